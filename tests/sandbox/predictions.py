"""Predictions: POST makes one, GET shows one, webhooks are signed as Standard Webhooks.

What the sandbox is told in a submission stands in `input`. A poll that is to meet a ban meets a 429
here.
"""
import base64
import hashlib
import hmac
import json
import time

from server import as_json

STATES = {"CAPCHA_NOT_READY": "processing", "ERROR_CAPTCHA_UNSOLVABLE": "failed"}
PATH = "/v1/predictions"


def sign(secret, body, message_id):
    stamp = str(int(time.time()))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {"Content-Type": "application/json", "webhook-id": message_id,
            "webhook-timestamp": stamp,
            "webhook-signature": "v1," + base64.b64encode(mac).decode()}


class Predictions:
    def __init__(self, routes):
        self.routes = routes
        self.provider = routes.provider

    def serves(self, path):
        return path == PATH or path.startswith(PATH + "/")

    def view(self, task, state, output=None):
        here = f"https://api.replicate.com{PATH}/{task.id}"
        return {"id": task.id, "status": state, "output": output, "error": None,
                "input": {}, "version": "v", "model": "o/m", "logs": "", "metrics": {},
                "created_at": "2026-01-01T00:00:00Z",
                "urls": {"get": here, "cancel": f"{here}/cancel"}}

    def state(self, task):
        good, word = self.provider.truth(task.id)
        return self.view(task, "succeeded" if good else STATES.get(word, "processing"),
                         word if good else None)

    async def handle(self, request):
        if request.headers.get("authorization") != f"Bearer {self.routes.options.key}":
            return as_json({"detail": "Unauthenticated"}, 401)
        if request.method == "POST" and request.path == PATH:
            return await self.create(request)
        task = self.provider.tasks.get(request.path[len(PATH) + 1:])
        if task is None:
            return as_json({"detail": "Not found"}, 404)
        mood = self.provider.mood_of_poll([task.id])
        odd = self.routes.odd_reply("429" if mood == "ban1005" else mood, {})
        return odd or as_json(self.state(task))

    async def create(self, request):
        body = json.loads(request.body)
        params = {name: value if isinstance(value, str) else json.dumps(value)
                  for name, value in body.get("input", {}).items()}
        params["pingback"] = body.get("webhook", "")
        try:
            task = self.provider.submit(params)
        except ValueError as error:
            return as_json({"detail": str(error)}, 422)
        task.encode = self.encode_callback
        await self.provider.begin(task)
        return as_json(self.view(task, "starting"), 201)

    def encode_callback(self, task, answer, failed):
        value = self.view(task, "failed" if failed else "succeeded", None if failed else answer)
        body = json.dumps(value).encode()
        return body, sign(self.routes.options.whsec, body, f"msg_{task.id}")
