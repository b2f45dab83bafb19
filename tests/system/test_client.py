"""libaldaba as its users have it: installed somewhere, built against by CMake and by pkg-config, and
then killed, as is the tracker, in the middle of its work. And the durable consumers of
docs/PROTOCOL.md, in Python and in Node."""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys

import pytest
from support import clients, libaldaba
from support.consume import Consumer
from support.daemon import Daemon
from support.house import House
from support.until import stays, until
from test_consumers import CALM, Source

TOP = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = TOP / "tests" / "client"
PROTOCOL = (TOP / "docs" / "PROTOCOL.md").read_text(encoding="utf-8")
END_S = 60


def ran(*argv, **options):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False,
                          timeout=END_S, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", name="prefix")
def a_prefix(tmp_path_factory):
    tree = os.environ.get("ALDABA_BIN", "")
    if not os.path.exists(os.path.join(tree, "CMakeCache.txt")):
        pytest.skip("ALDABA_BIN is no build folder: nothing can be installed from it")
    prefix = tmp_path_factory.mktemp("prefix")
    for component in ("library", "client"):
        ran("cmake", "--install", tree, "--component", component, "--prefix", prefix)
    return prefix


def libraries(prefix):
    return next(prefix.rglob("libaldaba.so")).parent


@pytest.fixture(scope="module", name="built")
def the_samples(prefix, tmp_path_factory):
    """Built by CMake."""
    folder = tmp_path_factory.mktemp("sample")
    ran("cmake", "-S", SAMPLE, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}")
    ran("cmake", "--build", folder)
    return folder


@pytest.fixture(scope="module", name="house")
def a_house():
    with House(profile=CALM) as one:
        yield one.start()


@pytest.fixture(name="source")
def a_source(house):
    return Source(house)


class Service(Daemon):
    """The sample service, its lines in a file."""

    def __init__(self, program, house, name, folder, instance=None):
        self.file = folder / "lines"
        super().__init__(f"service-{name}", [program, house.run, name, self.file,
                                             *([instance] if instance else [])], str(folder))

    def tasks(self):
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return [line.split()[2] for line in text.splitlines() if len(line.split()) >= 5]


def end(service):
    """By SIGTERM; its exit code."""
    service.process.send_signal(signal.SIGTERM)
    return until(lambda: not service.alive(), END_S, service.tail) and service.process.returncode


def lag(house, name):
    with Consumer(house.run, name) as consumer:
        return consumer.view().get("lag", 0)


def test_pkg_config(prefix, house, source, tmp_path):
    """A program built by one command, as C99, in the style of an ordinary Makefile."""
    env = {**os.environ, "PKG_CONFIG_PATH": str(next(prefix.rglob("aldaba.pc")).parent)}
    flags = ran("pkg-config", "--cflags", "--libs", "aldaba", env=env).split()
    assert not {"-lzmq", "-lczmq", "-lmsgpackc"} & set(flags)
    program = tmp_path / "durable"
    ran("cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
        SAMPLE / "durable.c", "-o", program, *flags, f"-Wl,-rpath,{libraries(prefix)}")
    version = ran("pkg-config", "--modversion", "aldaba", env=env).strip()
    made = source.make(20)
    service = Service(program, house, "by-pkg-config", tmp_path).start()
    assert service.facts["version"] == version
    try:
        until(lambda: set(made) <= set(service.tasks()), END_S, service.tail)
        assert end(service) == 0
    finally:
        service.clean()
    assert lag(house, "by-pkg-config") == 0


@pytest.mark.parametrize("program, instance", [("durable", "one"), ("durable_static", None)])
def test_kills(built, house, source, tmp_path, program, instance):
    """A backlog, and whoever works on it is killed in the middle, again and again: the service, the
    tracker, both. Nothing is missed; only what was in hand at a kill comes again."""
    name = f"kills-{program.replace('_', '-')}"
    with Consumer(house.run, name) as consumer:
        consumer.open(start="new", ack_wait_ms=300, max_deliver=1000)
    made = source.make(4000)
    service = Service(built / program, house, name, tmp_path, instance)
    kills = 0
    try:
        while not set(made) <= set(service.tasks()):
            service.launch()
            aim = min(len(set(service.tasks())) + random.randrange(1, 400), len(made))
            until(lambda: len(set(service.tasks())) >= aim, END_S, service.tail)
            if kills % 3 != 1:
                service.kill9()
            if kills % 3 != 0:
                house.tracker.kill9()
                house.tracker.start()
            if kills % 3 == 1:
                service.kill9()
            kills += 1
        service.start()
        until(lambda: lag(house, name) == 0, END_S, "not all is acknowledged")
        assert end(service) == 0, service.tail()
    finally:
        service.clean()
    tasks = service.tasks()
    assert set(tasks) == set(made)
    assert kills >= 3 and len(tasks) - len(made) <= kills * 100, "what was in hand, and no more"


def test_two_instances_and_one_of_them_dies(built, house, source, tmp_path):
    with Consumer(house.run, "shared") as consumer:
        consumer.open(start="new", ack_wait_ms=2000)
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    one, other = [Service(built / "durable", house, "shared", folder).start() for folder in folders]
    try:
        made = source.make(200)
        until(lambda: one.tasks() and len(one.tasks() + other.tasks()) > 50, END_S, one.tail)
        one.kill9()
        made += source.make(100)
        until(lambda: set(made) <= set(one.tasks() + other.tasks()), END_S, other.tail)
        until(lambda: lag(house, "shared") == 0, END_S, "not all is acknowledged")
        assert end(other) == 0
    finally:
        one.clean()
        other.clean()


def test_ends_without_a_tracker(built, house, tmp_path):
    """Refused, or with words that nobody took: the exit codes say so."""
    service = Service(built / "durable", house, "UPPER CASE", tmp_path).start()
    try:
        assert until(lambda: not service.alive(), END_S, service.tail)
        assert service.process.returncode == 69 and "invalid" in service.tail()
    finally:
        service.clean()


def test_live(built, house, source):
    """C++, from all there is and from a position in the middle."""
    made = source.make(30)
    lines = ran(built / "live", house.run, "all").splitlines()
    assert [line.split()[0] for line in lines][-30:] == made
    position = lines[-11].split()[2]
    again = ran(built / "live", house.run, position, "sandbox").splitlines()
    assert [line.split()[0] for line in again][-10:] == made[-10:]


def examples():
    text = PROTOCOL.partition("## A durable consumer in twenty lines")[2].partition("\n## ")[0]
    return dict(re.findall(r"```(python|js)\n(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_examples_of_the_protocol(house, source, tmp_path, language):
    """As they stand there; the tracker is killed while they run, and so are they."""
    script = tmp_path / "consumer"
    script.write_text(examples()[language], encoding="utf-8")
    argv, env = [sys.executable, script], {}
    if language == "js":
        argv, env = [shutil.which("node"), script], {"NODE_PATH": str(clients.install() / "node_modules")}
    name = f"example-{language}"
    with Consumer(house.run, name) as consumer:
        consumer.open(start="new", ack_wait_ms=2000)
    process = Daemon(name, [*argv, house.run, name], str(tmp_path), env).launch()

    def tasks():
        with open(process.log, encoding="utf-8") as log:
            return [line.split()[0] for line in log if " done " in line]

    try:
        made = source.make(120)
        until(lambda: len(tasks()) > 20, END_S, process.tail)
        house.tracker.kill9()
        house.tracker.start()
        process.kill9()
        process.launch()
        made += source.make(120)
        until(lambda: set(made) <= set(tasks()), END_S, process.tail)
        until(lambda: lag(house, name) == 0, END_S, "not all is acknowledged")
    finally:
        process.clean()


def test_the_end_gives_back_at_once(house, source):
    """What waited in a handle that is closed goes to the others, long before its hand-out is over;
    and as nobody has seen it, however often that was, it is not counted and no letter is made of it."""
    if libaldaba.path() is None:
        pytest.skip("there is no libaldaba.so in ALDABA_BIN")
    lib = libaldaba.load()
    options = {"run": house.run, "consumer": "gives-back"}
    with Consumer(house.run, "gives-back") as consumer:
        consumer.open(start="new", ack_wait_ms=600_000, max_deliver=2)
    made = source.make(20)
    for _ in range(3):
        with libaldaba.Handle(lib, **options) as nobody:
            until(lambda: nobody.status().waiting == 20, END_S, "they do not wait here")
            assert nobody.close() == "ok"
    with libaldaba.Handle(lib, **options) as one:
        first = one.take(3)
        until(lambda: one.status().waiting == 17, END_S, "they do not wait here")
        one.ack(first[0])
        assert one.close() == "ok"
    with libaldaba.Handle(lib, **options) as other:
        tasks = []
        while len(tasks) < 19:
            (event,) = other.take(1)
            tasks.append(str(event.task))
            seen = str(event.task) in (str(first[1].task), str(first[2].task))
            assert event.deliveries == (2 if seen else 1)
            other.ack(event)
        assert other.flush() == "ok"
    assert sorted(tasks) == sorted(made[1:])


def test_live_over_kills(house, source):
    """A live handle whose tracker is killed again and again: each event once, in order."""
    if libaldaba.path() is None:
        pytest.skip("there is no libaldaba.so in ALDABA_BIN")
    with libaldaba.Handle(libaldaba.load(), run=house.run, provider="sandbox") as handle:
        until(lambda: handle.status().position != b"new", END_S, "it has no place")
        made, seen = [], []
        for number in range(5):
            made += source.make(60)
            seen += [str(event.task) for event in handle.take(20 if number % 2 else 5)]
            house.tracker.kill9()
            house.tracker.start()
        made += source.make(1)
        seen += [str(event.task) for event in handle.take(len(made) - len(seen))]
        assert seen == made
        stays(lambda: handle.next()[0] in ("none", "changed"), 1, "something came twice")
