"""createTask, getTaskResult and callbackUrl: the same provider in the JSON protocol.

What the sandbox is told in a submission (fate=, moods=, solve=, ref= ...) stands in `task`. Ids are
numbers here, and a callback is the answer to getTaskResult with the task's id.
"""
import json

from server import Reply, as_json

ERROR_IDS = {"ERROR_KEY_DOES_NOT_EXIST": 1, "ERROR_NO_SLOT_AVAILABLE": 2, "ERROR_ZERO_BALANCE": 10,
             "ERROR_CAPTCHA_UNSOLVABLE": 12, "ERROR_NO_SUCH_CAPCHA_ID": 16}
WORDS = {"ban1005": "ERROR_IP_BLOCKED", "notready": "CAPCHA_NOT_READY",
         "notready2": "CAPTCHA_NOT_READY", "error": "ERROR_SOMETHING_NEW",
         "noslot": "ERROR_NO_SLOT_AVAILABLE", "server": "ERROR_SERVER_ERROR"}
HERE = {"ERROR_WRONG_CAPTCHA_ID": "ERROR_NO_SUCH_CAPCHA_ID",
        "ERROR_WRONG_ID_FORMAT": "ERROR_NO_SUCH_CAPCHA_ID",
        "ERROR_PAGEURL": "ERROR_TASK_NOT_SUPPORTED"}


def refuse(code):
    code = HERE.get(code, code)
    return as_json({"errorId": ERROR_IDS.get(code, 1), "errorCode": code, "errorDescription": code})


def outcome(good, word):
    """What getTaskResult says."""
    if good:
        return {"errorId": 0, "status": "ready", "solution": {"token": word}, "cost": "0.00085"}
    if word == "CAPCHA_NOT_READY":
        return {"errorId": 0, "status": "processing"}
    code = HERE.get(word, word)
    return {"errorId": ERROR_IDS.get(code, 1), "errorCode": code}


def encode_callback(task, answer, failed):
    """(body, headers) of a callback."""
    value = outcome(not failed, answer)
    value["taskId"] = int(task.id)
    return json.dumps(value).encode(), {"Content-Type": "application/json"}


class Tasks:
    def __init__(self, routes):
        self.routes = routes
        self.provider = routes.provider
        self.table = {"/createTask": self.create, "/getTaskResult": self.result,
                      "/getBalance": self.balance, "/reportCorrect": self.report,
                      "/reportIncorrect": self.report}

    def read(self, request):
        """(body, None), or (None, the refusal)."""
        try:
            body = json.loads(request.body)
        except ValueError:
            return None, refuse("ERROR_BAD_PARAMETERS")
        key = body.get("clientKey")
        if not key or self.routes.options.key and key != self.routes.options.key:
            return None, refuse("ERROR_KEY_DOES_NOT_EXIST")
        return body, None

    async def create(self, request):
        body, refusal = self.read(request)
        self.provider.heard.append({"method": request.method, "query": request.query,
                                    "type": request.headers.get("content-type", ""),
                                    "params": body})
        if refusal:
            return refusal
        task = body.get("task")
        if not isinstance(task, dict):
            return refuse("ERROR_TASK_ABSENT")
        params = {name: value if isinstance(value, str) else json.dumps(value)
                  for name, value in task.items()}
        params["pingback"] = body.get("callbackUrl", "")
        params["protocol"] = "tasks"
        try:
            return await self.make(params)
        except ValueError:
            return refuse("ERROR_BAD_PARAMETERS")

    async def make(self, params):
        order = self.provider.order(params)
        words = self.routes.order_words
        if order in words:
            return refuse(words[order])
        if order.isdigit():
            return Reply(int(order), b"<html></html>", "text/html")
        task = self.provider.submit(params)
        task.encode = encode_callback
        await self.provider.begin(task)
        if order == "took-502":
            return Reply(502, b"<html></html>", "text/html")
        if order in ("took-cut", "took-hang"):
            return Reply(manner=order[5:])
        return as_json({"errorId": 0, "taskId": int(task.id)})

    async def result(self, request):
        body, refusal = self.read(request)
        if refusal:
            return refusal
        task_id = str(body.get("taskId", ""))
        mood = self.provider.mood_of_poll([task_id])
        if mood in WORDS:
            return refuse(WORDS[mood])
        odd = self.routes.odd_reply(mood, {})
        return odd or as_json(outcome(*self.provider.truth(task_id)))

    async def balance(self, request):
        _, refusal = self.read(request)
        return refusal or as_json({"errorId": 0, "balance": 4.73})

    async def report(self, request):
        body, refusal = self.read(request)
        if refusal:
            return refusal
        task = self.provider.tasks.get(str(body.get("taskId", "")))
        if task is None:
            return refuse("ERROR_NO_SUCH_CAPCHA_ID")
        task.reports.append(request.path[1:])
        return as_json({"errorId": 0, "status": "success"})
