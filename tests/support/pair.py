"""Two gateways of one house behind the edge as it is shipped."""
import urllib.parse

from support.edge import NAMES, Edge
from support.house import House
from support.settings import free_port

# Nothing but the callback ends a task, and no poll speaks in between.
CALM = {"callback": {"stale_after": "120s"}, "poll": {"schedule": {"give_up_after": "300s"}}}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
NO_RETRY = {"    retry-on conn-failure empty-response response-timeout 503\n": ""}
PAD = 600_000  # a callback that is larger than the edge can hold, and so send again


class Pair(House):
    """gateway: settings of both gateways. changes: of the edge's configuration."""

    def __init__(self, gateway, changes=None, **more):
        super().__init__(settings={"gateway": gateway}, profile=CALM, **more)
        public, private = free_port(), free_port()
        self.add("gateway2", "gateway", {"ALDABA__GATEWAY__NAME": "2",
                                         "ALDABA__GATEWAY__PUBLIC": f"127.0.0.1:{public}",
                                         "ALDABA__GATEWAY__PRIVATE": f"127.0.0.1:{private}"})
        self.edge = Edge(self.folder, [(self.public.port, self.private.port), (public, private)], changes)

    def processes(self):
        return [*super().processes(), self.edge]

    def start(self):
        super().start()
        self.edge.start()
        for name in NAMES:
            self.edge.until_state(name, "UP")
        return self

    def tasks_to_call(self, count, ledger):
        """Provider ids of registered tasks whose provider never calls by itself."""
        ids = self.submit(count, fate="drop", solve=600)
        for provider_id in ids:
            ledger.registered(provider_id, self.register(provider_id)["id"])
        return ids


def form(provider_id, pad):
    answer = f"answer-of-{provider_id}-" + "a" * pad
    return answer, urllib.parse.urlencode({"id": provider_id, "code": answer}).encode()
