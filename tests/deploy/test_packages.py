"""The Debian packages, as whoever installs them meets them: in a Debian that has nothing else, started by
systemd with all that its units close, used, killed, restored, upgraded and purged."""
import json
import pathlib
import re
import shutil
import subprocess

import pytest
from support.podman import Podman, reason
from support.until import until

TOP = pathlib.Path(__file__).resolve().parents[2]
TREE = TOP / "build" / "package"
NAMES = ("aldaba", "libaldaba0", "libaldaba-dev")
SERVICES = ("aldaba-dlq", "aldaba-gateway", "aldaba-poller@1", "aldaba-tracker")
INSTALLED = "aldaba-test-installed"
BACKUP = "/var/backups/aldaba/first"
STORE = "/var/lib/aldaba/store"
BOOT_S = 60
SOON_S = 30

SETTINGS = """
profile: shop
extends: twocaptcha-v1
secrets: { key: { file: /etc/aldaba/keys/shop.key } }
submit: { request: { url: "http://127.0.0.1:7790/in.php" } }
poll:
  request: { url: "http://127.0.0.1:7790/res.php" }
  schedule: { first_after: 1s, every: 1s, max_every: 2s, max_requests: 50, give_up_after: 60s }
callback: { stale_after: 2s }
"""

WHY_NOT = reason("cpack", "dpkg-shlibdeps")
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def ran(*argv, check=True):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False,
                          cwd=TOP, timeout=900)
    assert not check or done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module", name="debs")
def the_packages():
    """{name: path}, built of this tree."""
    ran("cmake", "--preset", "package")
    ran("ninja", "-C", TREE, "--quiet")
    for old in TREE.glob("*.deb"):
        old.unlink()
    ran("cpack", "--config", TREE / "CPackConfig.cmake", "-B", TREE)
    return {path.name.partition("_")[0]: path for path in TREE.glob("*.deb")}


@pytest.fixture(scope="module", name="podman")
def a_podman():
    with Podman() as self:
        self.base()
        yield self


class Machine:
    """A Debian with the packages installed, that systemd has started; it reaches nobody."""

    def __init__(self, podman, debs):
        self.podman = podman
        self.name = "aldaba-test-machine"
        folder = next(iter(debs.values())).parent
        self.install(folder, debs)
        podman.start(self.name, "--systemd=always", "--privileged", "--network", "none",
                     "--tmpfs", "/run", "--tmpfs", "/tmp", "--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw",
                     "--volume", f"{folder}:/debs:ro", "--volume", f"{TOP}/tests:/tests:ro", INSTALLED,
                     "/lib/systemd/systemd")
        until(lambda: self.sh("systemctl is-system-running", check=False).strip() == "running", BOOT_S,
              lambda: self.sh("systemctl --failed --no-pager", check=False))

    def install(self, folder, debs):
        """As people do it, by apt; python and a compiler for what the tests bring."""
        files = " ".join(f"/debs/{path.name}" for path in debs.values())
        self.podman("rm", "--force", "aldaba-test-install", check=False)
        self.podman.names.append("aldaba-test-install")
        self.podman("run", "--name", "aldaba-test-install", "--ulimit", "nofile=1024:1024", "--ulimit",
                    "nproc=1000:1000", "--network", "host", "--volume", f"{folder}:/debs:ro",
                    self.podman.BASE, "sh", "-euc",
                    "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; "
                    f"apt-get install -y -qq --no-install-recommends {files} python3 gcc libc6-dev "
                    "pkg-config man-db procps >/var/log/install 2>&1 || { cat /var/log/install; exit 1; }")
        self.podman("commit", "--quiet", "aldaba-test-install", INSTALLED)

    def sh(self, script, check=True):
        return self.podman.shell(self.name, script, check)

    def pid(self, service):
        return self.sh(f"systemctl show -P MainPID '{service}'").strip()

    def started(self):
        listed = self.sh("systemctl list-units --plain --no-legend 'aldaba-*'").splitlines()
        return {line.split(".service")[0] for line in listed if " active running " in line}

    def until_ready(self):
        until(lambda: set(SERVICES) <= self.started(), SOON_S,
              lambda: self.sh("journalctl --no-pager -n 40 -u 'aldaba-*'"))
        until(lambda: self.sh("aldaba health gateway || true").strip() == "ready", SOON_S,
              "the gateway does not get ready")

    def states(self):
        lines = self.sh("aldaba tasks --json").splitlines()
        return {task["key"]: (task["state"], task["source"]) for task in map(json.loads, lines)}

    def submit(self, key):
        self.sh(f"aldaba submit shop method=post body=iVBORw0 --key {key} --wait")
        return self.states()[key]


@pytest.fixture(scope="module", name="machine")
def a_machine(podman, debs):
    return Machine(podman, debs)


@pytest.fixture(scope="module", name="serving")
def a_machine_that_serves(machine):
    """With a provider described in /etc/aldaba, its key where pollers alone see it, and the target up."""
    machine.sh("printf k1 >/etc/aldaba/keys/shop.key; chgrp aldaba /etc/aldaba/keys/shop.key; "
               "chmod 640 /etc/aldaba/keys/shop.key; mkdir /etc/aldaba/providers.d; "
               f"cat >/etc/aldaba/providers.d/shop.yaml <<'END'{SETTINGS}END\n"
               "sed -i 's|^  # public_url:.*|  public_url: http://127.0.0.1:7780|' /etc/aldaba/aldaba.yaml; "
               "aldaba config check; "
               "systemd-run --quiet --unit=sandbox python3 -B /tests/sandbox/main.py --port 7790 --key k1; "
               "systemctl enable --now aldaba.target")
    machine.until_ready()
    return machine


def test_example(debs):
    assert sorted(debs) == sorted(NAMES)


def test_lintian_finds_no_error(debs):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    said = ran("lintian", "--allow-root", *debs.values(), check=False)
    assert not re.findall(r"(?m)^E: .*$", said), said


def test_what_is_in_them(debs):
    listed = {name: ran("dpkg-deb", "--contents", path) for name, path in debs.items()}
    for file in ("bin/aldaba-tracker", "share/man/man1/aldaba.1.gz", "share/man/man5/aldaba.yaml.5.gz",
                 "share/bash-completion/completions/aldaba", "share/zsh/vendor-completions/_aldaba",
                 "share/fish/vendor_completions.d/aldaba.fish", "lib/systemd/system/aldaba.target",
                 "share/doc/aldaba/copyright", "share/doc/aldaba/docs/SETTINGS.md"):
        assert f"./usr/{file}\n" in listed["aldaba"], file
    assert "./etc/aldaba/aldaba.yaml\n" in listed["aldaba"]
    assert re.search(r"libaldaba\.so\.0 -> ", listed["libaldaba0"])
    for file in ("aldaba.h", "libaldaba.so", "libaldaba.a", "aldaba.pc", "aldabaConfig.cmake"):
        assert f"/{file}" in listed["libaldaba-dev"], file
    needs = ran("dpkg-deb", "--field", debs["aldaba"], "Depends")
    for library in ("libczmq4", "libcivetweb1", "libsqlite3-0", "libcurl4", "libgcrypt20", "libsodium23"):
        assert library in needs, needs


def test_installing_starts_nothing(machine):
    assert machine.started() == set()
    assert machine.sh("systemctl is-enabled aldaba.target || true").strip() == "disabled"
    assert machine.sh("stat -c '%U:%G %a' /var/lib/aldaba /var/backups/aldaba /run/aldaba "
                      "/etc/aldaba/keys").splitlines() == ["aldaba:aldaba 700"] * 3 + ["root:aldaba 750"]
    assert "/usr/sbin/nologin" in machine.sh("getent passwd aldaba")
    assert machine.sh("man -w aldaba-tracker aldaba.yaml").count(".gz") == 2
    assert "/etc/aldaba/aldaba.yaml" in machine.sh("dpkg-query --showformat='${Conffiles}' -W aldaba")


def test_a_task_comes_back(serving):
    assert serving.submit("first") == ("done", "callback")
    serving.sh("aldaba audit; runuser -u aldaba -- aldaba health poller; man -P cat aldaba >/dev/null")


def test_they_see_what_is_theirs(serving):
    def seen(service, folder):
        return serving.sh(f"nsenter -t {serving.pid(service)} -m ls {folder} 2>/dev/null || true").split()

    assert seen("aldaba-poller@1", "/etc/aldaba/keys") == ["shop.key"]
    assert seen("aldaba-poller@1", "/var/lib/aldaba") == []
    for service in ("aldaba-gateway", "aldaba-tracker", "aldaba-dlq"):
        assert seen(service, "/etc/aldaba/keys") == []
        assert seen(service, "/var/lib/aldaba") == ["store"]
        status = serving.sh(f"cat /proc/{serving.pid(service)}/status")
        assert re.search(r"Seccomp:\s*2", status) and re.search(r"CapEff:\s*0+\n", status)


def test_more_pollers(serving):
    serving.sh("systemctl start aldaba-poller@2")
    until(lambda: "aldaba-poller@2" in serving.started(), SOON_S, "there is no second poller")
    assert {"control-poller-1", "control-poller-2"} <= set(serving.sh("ls /run/aldaba").split())


def test_a_second_gateway(serving):
    """As docs/INSTALL.md says."""
    serving.sh("printf '%s\\n' ALDABA__GATEWAY__PUBLIC=127.0.0.1:7782 ALDABA__GATEWAY__PRIVATE=127.0.0.1:7783 "
               ">/etc/aldaba/gateway-2.env; systemctl start aldaba-gateway@2")
    until(lambda: serving.sh("ALDABA_URL=http://127.0.0.1:7783 aldaba health gateway || true").strip()
          == "ready", SOON_S, "the second gateway is not ready")
    assert {"spool", "spool-2"} <= set(serving.sh("ls /var/lib/aldaba/store").split())
    assert {"control-gateway", "control-gateway-2"} <= set(serving.sh("ls /run/aldaba").split())
    serving.sh("systemctl stop aldaba-gateway@2; rm /etc/aldaba/gateway-2.env")


def test_a_program_reads_results(serving):
    """Built with what libaldaba-dev brings, against the library of libaldaba0."""
    serving.sh("cc -std=c17 -D_GNU_SOURCE -o /tmp/durable /tests/client/durable.c "
               "$(pkg-config --cflags --libs aldaba); chmod 755 /tmp/durable")
    assert "libaldaba.so.0" in serving.sh("ldd /tmp/durable")
    serving.sh("systemd-run --quiet --unit=reader -p User=aldaba -p StateDirectory=reader "
               "/tmp/durable /run/aldaba reader /var/lib/reader/lines")
    until(lambda: " done " in serving.sh("cat /var/lib/reader/lines 2>/dev/null || true"), SOON_S,
          lambda: serving.sh("journalctl --no-pager -u reader"))
    serving.sh("systemctl stop reader")


def test_read_again(serving):
    before = [serving.pid(service) for service in SERVICES]
    serving.sh("aldaba config check && systemctl reload 'aldaba-*'")
    assert [serving.pid(service) for service in SERVICES] == before
    assert "ev=reload" in until(
        lambda: serving.sh("journalctl --no-pager -u aldaba-tracker | grep ev=reload || true"), SOON_S,
        "nothing was read again")


def test_wrong_settings_are_not_tried_again(serving):
    serving.sh("cp /etc/aldaba/aldaba.yaml /tmp/good; echo 'nonsense: 1' >>/etc/aldaba/aldaba.yaml; "
               "systemctl restart aldaba-dlq || true")
    facts = "systemctl show -P {} aldaba-dlq"
    until(lambda: serving.sh(facts.format("ActiveState")).strip() == "failed", SOON_S,
          "wrong settings are taken")
    assert serving.sh(facts.format("ExecMainStatus")).strip() == "78"
    assert serving.sh(facts.format("NRestarts")).strip() == "0"
    assert "nonsense" in serving.sh("journalctl --no-pager -u aldaba-dlq")
    serving.sh("cp /tmp/good /etc/aldaba/aldaba.yaml; systemctl start aldaba-dlq")
    serving.until_ready()


def test_a_spool_elsewhere(serving):
    folder = "/run/systemd/system/aldaba-gateway.service.d"
    serving.sh("install -d -m 700 -o aldaba -g aldaba /srv/spool; "
               f"mkdir -p {folder}; printf '[Service]\\nReadWritePaths=/srv/spool\\n"
               f"Environment=ALDABA__GATEWAY__SPOOL=/srv/spool\\n' >{folder}/spool.conf; "
               "systemctl daemon-reload; systemctl restart aldaba-gateway")
    serving.until_ready()
    assert "spool" in serving.sh("ls /srv/spool")
    serving.sh(f"rm -r {folder}; systemctl daemon-reload; systemctl restart aldaba-gateway")
    serving.until_ready()


def test_one_that_stands_still_is_started_anew(serving):
    folder = "/run/systemd/system/aldaba-tracker.service.d"
    serving.sh(f"mkdir -p {folder}; printf '[Service]\\nWatchdogSec=2\\n' >{folder}/soon.conf; "
               "systemctl daemon-reload; systemctl restart aldaba-tracker")
    before = serving.pid("aldaba-tracker")
    serving.sh(f"kill -STOP {before}")
    until(lambda: serving.pid("aldaba-tracker") not in (before, "0"), SOON_S, "it stands still")
    assert "watchdog" in serving.sh("journalctl --no-pager -u aldaba-tracker")
    serving.sh(f"rm -r {folder}; systemctl daemon-reload; systemctl restart aldaba-tracker")
    serving.until_ready()


def test_killed(serving):
    for service in SERVICES:
        serving.sh(f"kill -9 {serving.pid(service)}")
    serving.until_ready()
    assert serving.submit("killed") == ("done", "callback")
    assert serving.states()["first"] == ("done", "callback")


def test_upgraded(serving):
    """What runs goes on with the new programs, and what does not run stays so."""
    serving.sh("systemctl stop aldaba-poller@2")
    before = [serving.pid(service) for service in SERVICES]
    serving.sh("dpkg -i /debs/aldaba_*.deb")
    serving.until_ready()
    assert not set(before) & {serving.pid(service) for service in SERVICES}
    assert "aldaba-poller@2" not in serving.started()
    assert serving.states()["killed"] == ("done", "callback")


def test_restored(serving):
    serving.sh(f"aldaba backup {BACKUP}")
    assert serving.submit("after-the-backup") == ("done", "callback")
    serving.sh("systemctl stop aldaba.target 'aldaba-*'")
    assert serving.started() == set()
    serving.sh(f"runuser -u aldaba -- aldaba restore {BACKUP} --yes; runuser -u aldaba -- aldaba fsck; "
               "systemctl start aldaba.target")
    serving.until_ready()
    assert set(serving.states()) == {"first", "killed"}
    assert serving.submit("restored") == ("done", "callback")


def test_purged(serving):
    """The last of all: nothing runs, nothing is enabled, and stores and copies are there."""
    serving.sh("systemctl enable aldaba-poller@2; DEBIAN_FRONTEND=noninteractive apt-get purge -y -qq aldaba")
    assert "aldaba" not in serving.sh("cat /proc/[0-9]*/comm")
    assert serving.sh("find /etc/systemd/system /usr/bin /usr/lib/systemd -name 'aldaba*'") == ""
    assert "tracker.db" in serving.sh(f"ls {STORE}") and "MANIFEST" in serving.sh(f"ls {BACKUP}")
