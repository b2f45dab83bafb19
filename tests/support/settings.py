"""The settings of a test's aldaba, and the few lines that write them as YAML."""
import copy
import json
import random
import re
import socket

PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*|[0-9][A-Za-z0-9_./-]*|https?://[A-Za-z0-9_.:/-]+")
RANGE_FILE = "/proc/sys/net/ipv4/ip_local_port_range"


def to_yaml(value, depth=0):
    """A mapping of mappings, lists of scalars and scalars, in block style."""
    lines = []
    for key, item in value.items():
        lead = f"{'  ' * depth}{scalar(key)}:"
        if isinstance(item, dict):
            lines += [lead, to_yaml(item, depth + 1)]
        elif isinstance(item, list):
            lines.append(f"{lead} [{', '.join(scalar(part) for part in item)}]")
        else:
            lines.append(f"{lead} {scalar(item)}")
    return "\n".join(lines)


def scalar(value):
    if isinstance(value, str) and PLAIN.fullmatch(value):
        return value
    return json.dumps(value)


def merge(base, more):
    """base with more laid over it, mapping by mapping; None takes a key away."""
    out = copy.deepcopy(base)
    for key, value in more.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merge(out[key], value)
        else:
            out[key] = copy.deepcopy(value)
    return out


_given = set()


def free_port():
    """A port that is free now and that the kernel gives to nobody by itself: a process may leave
    it and come back to it, and no connection to it can meet itself while nobody listens. None is
    given twice: it is free until its first owner has come."""
    with open(RANGE_FILE, encoding="ascii") as file:
        floor = int(file.read().split()[0])
    for port in random.sample(range(10240, floor), 200):
        if port in _given:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _given.add(port)
            return port
    raise RuntimeError("no free port found")


def sandbox_profile(port):
    """A profile of the in.php family that polls soon, for a sandbox on this port."""
    return {
        "family": "inphp",
        "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
        "poll": {
            "request": {"method": "GET", "url": f"http://127.0.0.1:{port}/res.php"},
            "schedule": {"every": "200ms", "max_every": "2s", "max_requests": 50,
                         "give_up_after": "30s"},
        },
        "callback": {"trust": "id", "auth": {"source_ips": ["127.0.0.1"]}, "stale_after": "1s"},
    }


def shop_profile(port):
    """The same provider described by rules: aldaba submits by itself."""
    return {
        "extends": "twocaptcha-v1",
        "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
        "submit": {"request": {"url": f"http://127.0.0.1:{port}/in.php"}},
        "poll": {
            "request": {"url": f"http://127.0.0.1:{port}/res.php"},
            "schedule": {"first_after": "1s", "every": "200ms", "max_every": "2s",
                         "max_requests": 50, "give_up_after": "30s"},
        },
        "callback": {"stale_after": "1s"},
        "budgets": [],
    }


def house_settings(folder, run, public, private, sandbox):
    return {
        "bus": {"run": run},
        "store": {"data": f"{folder}/data"},
        "gateway": {
            "public": f"127.0.0.1:{public}",
            "private": f"127.0.0.1:{private}",
            "public_url": f"http://127.0.0.1:{public}",
            "default_provider": "sandbox",
        },
        "providers": {"sandbox": sandbox_profile(sandbox)},
    }
