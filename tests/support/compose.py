"""compose.yaml, brought up by docker-compose as its users do it. Podman plays Docker: it serves Docker's
API on a socket of the test, with images built of this tree and nothing published but on free ports.

    with Podman() as podman, Composed(podman, folder) as composed:
        composed("up", "--detach", "--no-build")
        print(composed.aldaba("status"))
"""
import json
import os
import subprocess

from support.podman import TOP
from support.settings import free_port
from support.until import until

PROJECT = "aldabatest"
IMAGES = {"ALDABA_IMAGE": "aldaba", "ALDABA_SANDBOX_IMAGE": "sandbox", "ALDABA_EDGE_IMAGE": "edge"}
GATEWAYS = ("gateway", "gateway2")
SERVICES = (*GATEWAYS, "tracker", "dlq", "poller")
WAIT_S = 300
START_S = 30
# Podman wishes for more threads than we may give; Docker does not.
OVERRIDE = {"services": {name: {"ulimits": {"nproc": 4000}} for name in (*SERVICES, "sandbox", "edge")}}


class Composed:
    def __init__(self, podman, folder):
        self.podman = podman
        self.folder = folder
        self.api, self.api2, self.public, self.edge = (free_port() for _ in range(4))
        self.socket = os.path.join(folder, "docker.sock")
        self.secrets = os.path.join(folder, "secrets")
        self.token = ""
        self.env = {**os.environ, "DOCKER_HOST": f"unix://{self.socket}",
                    "ALDABA_SECRETS": self.secrets, "ALDABA_API_PORT": str(self.api),
                    "ALDABA_API2_PORT": str(self.api2),
                    "ALDABA_PUBLIC_PORT": str(self.public), "ALDABA_EDGE_PORT": str(self.edge)}
        self.engine = None

    def __enter__(self):
        for variable, target in IMAGES.items():
            self.env[variable] = self.podman.build(target, f"aldaba-test-{target}")
        self.make_secrets()
        self.override = os.path.join(self.folder, "override.json")
        with open(self.override, "w", encoding="utf-8") as file:
            json.dump(OVERRIDE, file)
        with open(os.path.join(self.folder, "engine.log"), "wb") as log:
            self.engine = subprocess.Popen(
                [*self.podman.argv, "system", "service", "--time=0", f"unix://{self.socket}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.podman.env)
        until(lambda: os.path.exists(self.socket), START_S, "podman does not serve Docker's API")
        self("down", "--volumes", check=False)
        return self

    def __exit__(self, *_):
        self("down", "--volumes", "--timeout", "5", check=False)
        self.engine.terminate()
        self.engine.wait(START_S)

    def make_secrets(self):
        """As the head of compose.yaml says; and a certificate that nobody knows."""
        script = ("install -d -m 700 . && openssl rand -base64 32 >api_token && "
                  "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cb.example.org -keyout key "
                  "-out certificate -addext subjectAltName=DNS:cb.example.org 2>/dev/null && "
                  "cat certificate key >edge.pem && chown 65532 api_token edge.pem && "
                  "chmod 400 api_token edge.pem")
        os.mkdir(self.secrets)
        subprocess.run(["sh", "-euc", script], cwd=self.secrets, check=True, timeout=WAIT_S)
        with open(os.path.join(self.secrets, "api_token"), encoding="ascii") as file:
            self.token = file.read().strip()

    def __call__(self, *words, check=True, code=False, profiles=("demo", "edge")):
        """What it prints, or its exit code."""
        chosen = [word for name in profiles for word in ("--profile", name)]
        done = subprocess.run(
            ["docker-compose", "--project-name", PROJECT, "--file", str(TOP / "compose.yaml"), "--file",
             self.override, "--ansi", "never", *chosen, *map(str, words)],
            env=self.env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=WAIT_S,
            check=False, cwd=TOP)
        assert not check or done.returncode == 0, f"{words}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.returncode if code else done.stdout

    def up(self, pollers):
        self("up", "--detach", "--no-build", "--scale", f"poller={pollers}")
        until(lambda: self.aldaba("health", "gateway", check=False).strip() == "ready", START_S,
              lambda: self("logs", "--no-color", "--tail", "30"))

    def sh(self, service, script, check=True):
        return self("exec", "-T", service, "sh", "-euc", script, check=check)

    def aldaba(self, *words, check=True):
        return self("exec", "-T", "gateway", "aldaba", *words, check=check)

    def containers(self, service):
        return self("ps", "--quiet", service).split()

    def inspect(self, container):
        return json.loads(self.podman("inspect", container))[0]

    def pid(self, container):
        return self.inspect(container)["State"]["Pid"]

    def healthy(self, container):
        """What the healthcheck of the container says now. (Podman leaves asking to systemd.)"""
        done = subprocess.run([*self.podman.argv, "healthcheck", "run", container], capture_output=True,
                              timeout=WAIT_S, check=False, env=self.podman.env)
        return done.returncode == 0

    def tasks(self):
        lines = self.aldaba("tasks", "--limit", "500", "--json").splitlines()
        return {task["key"]: task for task in map(json.loads, lines)}

    def ledger(self):
        """{provider id: line}: what the provider says, who knows nothing of aldaba."""
        lines = self.sh("sandbox", "python3 -c 'import urllib.request as u; print(u.urlopen("
                        "\"http://127.0.0.1:7790/_sandbox/ledger\").read().decode())'").splitlines()
        return {entry["id"]: entry for entry in map(json.loads, filter(None, lines))}
