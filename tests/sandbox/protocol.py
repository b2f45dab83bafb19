"""The routes: in.php and res.php as their documentation tells them, and the control routes. The
other protocols are in tasks and predictions.

docs: in.php takes a submission by GET, form, multipart or JSON; res.php answers polls, in plain
text or, with json=1, in JSON; `ids=` asks for several tasks at once.
"""
import asyncio
import json
import time

from fates import FATES, MOODS, parse_weights
from predictions import Predictions
from server import Reply, as_json, text
from tasks import Tasks

HTML = (b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
        b"<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n")
CHUNK = 64 * 1024


def say(params, good, word, **more):
    """The envelope of both scripts."""
    if params.get("json") == "1":
        return as_json({"status": 1 if good else 0, "request": word, **more})
    return text(f"OK|{word}" if good else word)


class Routes:
    order_words = {"noslot": "ERROR_NO_SLOT_AVAILABLE", "balance": "ERROR_ZERO_BALANCE",
                   "ban1003": "ERROR: 1003", "pageurl": "ERROR_PAGEURL",
                   "new": "ERROR_SOMETHING_NEW"}

    def __init__(self, provider, options):
        self.provider = provider
        self.options = options
        self.table = {
            "/in.php": self.submit, "/res.php": self.results,
            "/_sandbox/stats": self.stats, "/_sandbox/ledger": self.ledger,
            "/_sandbox/submit": self.submit_many, "/_sandbox/moods": self.set_moods,
            "/_sandbox/fates": self.set_fates,
            "/_sandbox/times": self.times, "/_sandbox/heard": self.heard,
        }
        self.table |= Tasks(self).table
        self.predictions = Predictions(self)
        self.actions = {
            "get": self.get, "get2": self.get, "getbalance": self.balance,
            "reportgood": self.report, "reportbad": self.report,
            "add_pingback": self.accept, "del_pingback": self.accept,
        }

    async def handle(self, request):
        route = self.table.get(request.path)
        if self.predictions.serves(request.path):
            route = self.predictions.handle
        if route is None:
            return text("not found\n", 404)
        self.provider.requests[request.path] += 1
        if not request.path.startswith("/_sandbox/"):
            self.provider.request_times[request.path].append(time.monotonic())
        return await route(request)

    def refused(self, params):
        """The reply to a wrong account key, else None."""
        key = params.get("key", "")
        if not key or self.options.key and key != self.options.key:
            return say(params, False, "ERROR_WRONG_USER_KEY" if key else "ERROR_KEY_DOES_NOT_EXIST")
        return None

    # ---- in.php ----

    async def submit(self, request):
        params = request.params()
        self.provider.heard.append({"method": request.method, "query": request.query,
                                    "type": request.headers.get("content-type", ""),
                                    "params": params})
        refusal = self.refused(params)
        if refusal:
            return refusal
        try:
            order = self.provider.order(params)
            if not order.startswith("took") and order != "truth":
                return self.refuse_order(order, params)
            task = self.provider.submit(params)
        except ValueError:
            return say(params, False, "ERROR_BAD_PARAMETERS")
        await self.provider.begin(task)
        if order == "took-502":
            return Reply(502, HTML, "text/html")
        if order in ("took-cut", "took-hang"):
            return Reply(manner=order[5:])
        return say(params, True, task.id)

    def refuse_order(self, order, params):
        words = self.order_words
        return say(params, False, words[order]) if order in words \
            else Reply(int(order), HTML, "text/html")

    async def submit_many(self, request):
        """n tasks with the same parameters, made here: no key needed. Early callbacks run along."""
        params = request.params()
        count = int(params.pop("n", "1"))
        try:
            tasks = [self.provider.submit(dict(params)) for _ in range(count)]
        except ValueError as error:
            return text(f"{error}\n", 400)
        await asyncio.gather(*(self.provider.begin(task) for task in tasks))
        return as_json({"ids": [task.id for task in tasks]})

    # ---- res.php ----

    async def results(self, request):
        params = request.params()
        action = self.actions.get(params.get("action", ""))
        refusal = self.refused(params)
        if refusal:
            return refusal
        if action is None:
            return say(params, False, "ERROR_EMPTY_ACTION")
        return action(params)

    def get(self, params):
        several = [i for i in params.get("ids", "").split(",") if i]
        ids = several or [params.get("id", "")]
        odd = self.odd_reply(self.provider.mood_of_poll(ids), params)
        if odd:
            return odd
        truths = [self.provider.truth(task_id) for task_id in ids]
        if several:
            words = "|".join(word for _, word in truths)
            return as_json({"status": 1, "request": words}) if params.get("json") == "1" \
                else text(words)
        good, word = truths[0]
        if good and params["action"] == "get2":
            if params.get("json") == "1":
                return say(params, True, word, price="0.00085")
            word += "|0.00085"
        return say(params, good, word)

    def odd_reply(self, mood, params):
        """The reply of a provider in this mood; None when it tells the truth."""
        words = {"ban1005": "ERROR: 1005", "notready": "CAPCHA_NOT_READY",
                 "notready2": "CAPTCHA_NOT_READY", "error": "ERROR_SOMETHING_NEW",
                 "noslot": "ERROR_NO_SLOT_AVAILABLE", "server": "ERROR_SERVER_ERROR"}
        if mood in words:
            return say(params, False, words[mood])
        if mood in ("html502", "html200"):
            return Reply(int(mood[4:]), HTML, "text/html")
        if mood == "empty":
            return Reply()
        if mood == "huge":
            return Reply(body=b"OK|" + b"A" * (CHUNK - 3), manner="endless",
                         size=self.options.huge_mib << 20)
        if mood == "slow":
            return Reply(body=b"OK|" + b"S" * 1000, manner="drip", pace_s=self.options.drip)
        if mood == "half":
            return Reply(body=b"OK|" + b"H" * 200, manner="half")
        if mood == "hang":
            return Reply(manner="hang")
        if mood == "429":
            return text("Too Many Requests", 429, headers=(("Retry-After", "1"),))
        return None

    def balance(self, params):
        return say(params, True, "4.73") if params.get("json") == "1" else text("4.73")

    def accept(self, params):
        return say(params, True, "OK") if params.get("json") == "1" else text("OK")

    def report(self, params):
        task = self.provider.tasks.get(params.get("id", ""))
        if task is None:
            return say(params, False, "ERROR_WRONG_CAPTCHA_ID")
        if task.reports:
            return say(params, False, "ERROR_DUPLICATE_REPORT")
        task.reports.append(params["action"])
        return say(params, True, "OK_REPORT_RECORDED") if params.get("json") == "1" \
            else text("OK_REPORT_RECORDED")

    # ---- control ----

    async def stats(self, _request):
        return as_json(self.provider.stats())

    async def ledger(self, _request):
        lines = (json.dumps(task.ledger()) for task in self.provider.tasks.values())
        return Reply(body="".join(f"{line}\n" for line in lines).encode(),
                     content_type="application/x-ndjson")

    async def times(self, request):
        """When each request of a path came: seconds of this process's clock."""
        return as_json(self.provider.request_times[request.params().get("path", "")])

    async def heard(self, _request):
        """Every request to submit, with its parameters."""
        return as_json(self.provider.heard)

    async def set_moods(self, request):
        return self.set_weights(self.provider.moods, request, MOODS)

    async def set_fates(self, request):
        return self.set_weights(self.provider.fates, request, FATES)

    @staticmethod
    def set_weights(chooser, request, known):
        """Weights from now on: `?weights=name=weight,...`; empty for none."""
        try:
            chooser.weights = parse_weights(request.params().get("weights", ""), known)
        except ValueError as error:
            return text(f"{error}\n", 400)
        return as_json(chooser.weights)
