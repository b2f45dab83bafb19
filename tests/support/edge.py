"""HAProxy in front of gateways, with the configuration that is shipped: but for the addresses, and for
TLS, which tests/deploy has.

    with Edge(house.folder, [(public, private), (public, private)]) as edge:
        edge.start()
        edge.client.get("/callback/sandbox")
"""
import csv
import os
import pathlib
import shutil
import socket

from support.daemon import Daemon, Failed
from support.http import Client
from support.settings import free_port
from support.until import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "services/deploy/proxy/haproxy.cfg"
NAMES = ("gateway", "gateway2")  # as compose.yaml has them
TURN_S = 10


def program():
    """HAProxy of the machine, or the one that ./check puts into build/tools; else None."""
    found = [shutil.which("haproxy"), "/usr/sbin/haproxy", ROOT / "build/tools/haproxy"]
    return next((str(one) for one in found if one and os.access(one, os.X_OK)), None)


class Edge(Daemon):
    """doors: (public, private) ports of each gateway. changes: {text of the configuration: another}."""

    def __init__(self, folder, doors, changes=None):
        self.client = Client(free_port())
        self.path = os.path.join(folder, "haproxy.cfg")
        self.admin = os.path.join(folder, "haproxy.sock")
        self.write(doors, changes or {})
        super().__init__("edge", [program(), "-db", "-f", self.path], folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.clean()

    def write(self, doors, changes):
        text = SHIPPED.read_text(encoding="utf-8")
        changes = {":8443 ssl crt /run/secrets/edge.pem alpn h2,http/1.1": f"127.0.0.1:{self.client.port}",
                   "global\n": f"global\n    stats socket {self.admin} mode 600\n",
                   **changes}
        for name, (public, private) in zip(NAMES, doors):
            changes |= {f" {name}:7780 check port 7781": f" 127.0.0.1:{public} check port {private}",
                        f" {name}:7780 backup": f" 127.0.0.1:{public} backup"}
        for old, new in changes.items():
            assert text.count(old) == 1, f"{SHIPPED}: {old!r}"
            text = text.replace(old, new)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def _ready_facts(self):
        if not self.alive():
            raise Failed(f"HAProxy ended with {self.process.returncode}\n{self.tail()}")
        try:
            with socket.create_connection((self.client.host, self.client.port), timeout=1):
                return {"ready": "1"}
        except OSError:
            return None

    def rows(self):
        """{server: its row of statistics}"""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(TURN_S)
            peer.connect(self.admin)
            peer.sendall(b"show stat\n")
            said = b"".join(iter(lambda: peer.recv(65536), b"")).decode()
        rows = csv.DictReader(said.removeprefix("# ").splitlines())
        return {row["svname"]: row for row in rows if row["pxname"] == "gateways"}

    def states(self):
        """{gateway: UP or DOWN or what is between}"""
        return {name: self.rows()[name]["status"] for name in NAMES}

    def under_way(self, name):
        """How many requests a gateway has now."""
        return int(self.rows()[name]["scur"])

    def until_state(self, name, state):
        until(lambda: self.states()[name] == state, TURN_S, lambda: str(self.states()))
