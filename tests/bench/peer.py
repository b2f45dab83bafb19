"""The peers: each in a folder of its own, on free ports, started and stopped by this program alone, with the
durability that its name says. All are asked the same thing: keep a callback, and say 200.

A Peer has `url` and `way` (method, path and type of the body that the load sends), `kept()` (how many
callbacks it says it has; None where it keeps none), and `expect(first, count)` for those that remember tasks.
"""
import json
import os
import shutil
import socket

from bench import measure, packages
from support.daemon import Daemon, Failed
from support.http import Client
from support.settings import free_port

CALLBACK = "/callback/sandbox"
REDIS = {"bind": "127.0.0.1", "appendonly": "yes", "appendfsync": "always", "save": '""',
         "auto-aof-rewrite-percentage": "0", "protected-mode": "yes", "daemonize": "no"}


class Listener(Daemon):
    """A program of others, which is ready when its port answers."""

    def __init__(self, name, argv, folder, port, env=None):
        super().__init__(name, argv, folder, env)
        self.port = port

    def _ready_facts(self):
        if not self.alive():
            raise Failed(f"{self.name} ended with {self.process.returncode}\n{self.tail()}")
        with socket.socket() as probe:
            return {"port": self.port} if probe.connect_ex(("127.0.0.1", self.port)) == 0 else None


class Peer:
    name = ""
    title = ""
    durable = "none"
    way = ("POST", CALLBACK)

    def __init__(self, args):
        self.args = args
        self.folder = os.path.join(args.work, self.name)
        self.daemons = []
        self.versions = {}
        self.port = None

    def install(self):
        """Sets versions, or raises packages.Missing."""

    def launch(self):
        """Starts its processes and sets the port."""
        raise NotImplementedError

    def start(self):
        os.makedirs(self.folder, mode=0o700)
        self.launch()

    def run(self, daemon):
        self.daemons.append(daemon)
        return daemon.start()

    def stop(self):
        for daemon in reversed(self.daemons):
            try:
                if daemon.alive():
                    daemon.stop()
            finally:
                daemon.clean()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def pids(self):
        """{name: pid}, workers too."""
        return {daemon.name if pid == daemon.pid else f"{daemon.name} {pid}": pid
                for daemon in self.daemons for pid in measure.family(daemon.pid)}

    def kept(self):
        return None

    def expect(self, first, count):
        pass


class Empty(Peer):
    name, title = "empty", "empty civetweb handler"

    def launch(self):
        argv = [f"{self.args.bin}/tests/bench/empty_http", self.args.http_threads]
        self.port = int(self.run(Daemon("empty", argv, self.folder)).facts["port"])


class Nginx(Peer):
    name, title = "nginx", "nginx, return 200"

    def install(self):
        self.versions = packages.debian("nginx")

    def launch(self):
        self.port = free_port()
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"""
worker_processes auto; daemon off; pid {self.folder}/nginx.pid; error_log {self.folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; default_type text/plain;
  client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy;
  fastcgi_temp_path {self.folder}/fastcgi; uwsgi_temp_path {self.folder}/uwsgi; scgi_temp_path {self.folder}/scgi;
  server {{ listen 127.0.0.1:{self.port}; location / {{ return 200 "{self.answer}"; }} }}
}}
""")
        argv = [shutil.which("nginx") or "/usr/sbin/nginx", "-p", self.folder, "-e", f"{self.folder}/error.log",
                "-c", path]
        self.run(Listener("nginx", argv, self.folder, self.port))

    answer = "OK"


class Node(Peer):
    """An Express program of peers/, one process."""
    script = ""

    def install(self):
        self.versions = {"node": "", **packages.npm(self.args.npm)}
        self.versions["node"] = packages.version_of("node")
        for package in ("better-sqlite3", "bullmq", "ioredis", "nats"):
            if package not in self.wants:
                del self.versions[package]

    wants = ()

    def node(self, *more):
        argv = ["node", os.path.join(self.args.npm, self.script), self.folder, *more]
        env = {"NODE_ENV": "production"}
        self.port = int(self.run(Daemon(self.name, argv, self.folder, env)).facts["port"])

    def launch(self):
        self.node()

    def kept(self):
        return Client(self.port).get("/_kept").json()["kept"]


class Express(Node):
    name, title, script = "express", "Express, a Map in memory", "memory.cjs"

    def expect(self, first, count):
        assert Client(self.port).post_json(f"/_expect?first={first}&count={count}", {}).status == 200


class Flask(Express):
    name, title = "flask", "Flask behind gunicorn, a dict in memory"

    def install(self):
        self.versions = packages.debian("gunicorn", "python3-flask")
        shutil.copy(os.path.join(packages.PEERS, "memory_flask.py"), self.args.work)

    def launch(self):
        self.port = free_port()
        argv = ["/usr/bin/python3", "-m", "gunicorn", "--bind", f"127.0.0.1:{self.port}", "--workers", "1",
                "--worker-class", "gthread", "--threads", "8", "--keep-alive", "60", "--chdir", self.args.work,
                "memory_flask:app"]
        self.run(Listener("flask", argv, self.folder, self.port))


def start_redis(peer):
    """Its port. What is answered is on disk."""
    port = free_port()
    argv = ["redis-server", "--port", port, "--dir", peer.folder]
    for key, value in REDIS.items():
        argv += [f"--{key}", value.strip('"')]
    peer.run(Listener("redis", argv, peer.folder, port))
    return port


class BullMq(Node):
    name, title, script, durable = "bullmq", "Express + BullMQ + Redis, AOF always", "bullmq.cjs", "fsync"
    wants = ("bullmq", "ioredis")

    def install(self):
        super().install()
        self.versions.update(packages.debian("redis-server"))

    def launch(self):
        self.node(start_redis(self))


class Sqlite(Node):
    name, title, script, durable = "sqlite", "Express + better-sqlite3, WAL, FULL", "sqlite.cjs", "fsync"
    wants = ("better-sqlite3",)

    def install(self):
        super().install()
        packages.compiled(self.args.npm, "better-sqlite3")


class Webdis(Peer):
    """Its body is its last argument with PUT, so the bytes of the body are the same; the path is its own."""
    name, title, durable = "webdis", "webdis + Redis, AOF always, LPUSH", "fsync"
    way = ("PUT", "/LPUSH/callbacks")

    def install(self):
        self.versions = packages.debian("webdis", "redis-server")

    def launch(self):
        redis = self.redis = start_redis(self)
        self.port = free_port()
        path = os.path.join(self.folder, "webdis.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump({"redis_host": "127.0.0.1", "redis_port": redis, "redis_auth": None,
                       "http_host": "127.0.0.1", "http_port": self.port, "threads": self.args.processors,
                       "daemonize": False, "database": 0, "verbosity": 0,
                       "logfile": os.path.join(self.folder, "webdis.log")}, file)
        self.run(Listener("webdis", ["webdis", path], self.folder, self.port))

    def kept(self):
        """By Redis itself: after a round webdis was once seen to answer with something else."""
        with socket.create_connection(("127.0.0.1", self.redis), 20) as link:
            link.sendall(b"LLEN callbacks\r\n")
            return int(link.makefile("rb").readline().lstrip(b":"))


class JetStream(Node):
    name, title = "jetstream", "NATS JetStream behind Express"
    script, durable = "jetstream.cjs", "says yes before its fsync"
    wants = ("nats",)

    def install(self):
        super().install()
        self.versions.update(packages.debian("nats-server"))

    def launch(self):
        port = free_port()
        server = shutil.which("nats-server") or "/usr/sbin/nats-server"
        self.run(Listener("nats", [server, "-js", "-sd", f"{self.folder}/js", "-a", "127.0.0.1", "-p", port],
                          self.folder, port))
        self.node(port)


KINDS = {kind.name: kind for kind in (Empty, Nginx, Express, Flask, BullMq, Sqlite, Webdis, JetStream)}


def ready(name, args):
    """A peer that runs, or raises packages.Missing."""
    peer = KINDS[name](args)
    peer.install()
    try:
        peer.start()
    except (AssertionError, OSError, KeyError) as error:
        peer.stop()
        raise packages.Missing(f"does not start: {str(error).splitlines()[0]}") from error
    return peer


