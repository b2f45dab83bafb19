"""Containers of a test, by podman and runc: a Debian of its own (debootstrap), in a storage of the build
folder, none of which is the user's. Root is needed.

    with Podman() as podman:
        podman.base()
        print(podman("run", "--rm", podman.BASE, "cat", "/etc/debian_version"))
"""
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
HOME = pathlib.Path(os.environ.get("ALDABA_CONTAINERS", TOP / "build" / "deploy"))
SUITE = "bookworm"
RUNC = "/usr/sbin/runc"
CONF = HOME / "containers.conf"
# What watches over a command in a container would stay for five minutes after it.
SETTINGS = "[engine]\nexit_command_delay = 1\n"
WAIT_S = 600
NEEDED = ("podman", "debootstrap")


def reason(*more):
    """Why there can be no containers here; "" when there can."""
    if os.geteuid() != 0:
        return "containers need root here"
    absent = [name for name in (*NEEDED, *more) if shutil.which(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)}"
    return "" if os.path.exists(RUNC) else "not installed: runc"


def limits():
    """What a container may have is bound by what we may: podman's own wish is more."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", "nproc=4000:4000"]


def driver():
    """One overlay can't lie on another, as when we are in a container ourselves; the other way copies all."""
    kind = subprocess.run(["stat", "--file-system", "--format=%T", HOME], capture_output=True, text=True,
                          check=True).stdout.strip()
    return "vfs" if kind == "overlayfs" else "overlay"


class Failed(AssertionError):
    """A command in a container, or podman itself, ended with another code than 0."""


class Podman:
    BASE = "aldaba-test-debian"

    def __init__(self):
        HOME.mkdir(parents=True, exist_ok=True)
        CONF.write_text(SETTINGS, encoding="ascii")
        self.env = {**os.environ, "CONTAINERS_CONF": str(CONF)}
        self.names = []
        # Both for good: the storage remembers the other.
        self.argv = ["podman", "--root", str(HOME / "storage"), "--runroot", str(HOME / "run"),
                     "--runtime", RUNC, "--cgroup-manager", "cgroupfs", "--storage-driver", driver()]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name in self.names:
            self("rm", "--force", "--time", "0", name, check=False)

    def __call__(self, *words, check=True, timeout_s=WAIT_S, text=None):
        done = subprocess.run([*self.argv, *map(str, words)], capture_output=True, text=True,
                              input=text, timeout=timeout_s, check=False, env=self.env,
                              stdin=subprocess.DEVNULL if text is None else None)
        if check and done.returncode != 0:
            raise Failed(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout[-4000:]}\n"
                         f"{done.stderr[-4000:]}")
        return done.stdout

    def has(self, image):
        return self("images", "--quiet", image).strip() != ""

    def base(self):
        """A Debian with nothing in it, made once and kept."""
        if self.has(self.BASE):
            return self.BASE
        with tempfile.TemporaryDirectory(dir=HOME) as folder:
            root, packed = os.path.join(folder, "root"), os.path.join(folder, "root.tar")
            subprocess.run(["debootstrap", "--variant=minbase", SUITE, root], check=True,
                           stdout=subprocess.DEVNULL, timeout=WAIT_S)
            subprocess.run(["tar", "-C", root, "-cf", packed, "."], check=True, timeout=WAIT_S)
            self("import", packed, self.BASE)
        return self.BASE

    def build(self, target, tag):
        """An image of the project's Containerfile, on the base instead of one from a registry."""
        self("build", "--isolation", "chroot", "--network", "host", "--layers", "--build-arg",
             f"DEBIAN=localhost/{self.base()}", "--file", TOP / "services/deploy/container/Containerfile",
             "--target", target, "--tag", tag, TOP, timeout_s=2 * WAIT_S)
        return f"localhost/{tag}"

    def start(self, name, *words):
        """A container that goes on, until the context is left."""
        self("rm", "--force", "--time", "0", name, check=False)
        self.names.append(name)
        self("run", "--detach", "--name", name, *limits(), *words)
        return name

    def shell(self, name, script, check=True):
        """A script in a container that runs; what it prints on stdout."""
        return self("exec", name, "sh", "-euc", script, check=check)
