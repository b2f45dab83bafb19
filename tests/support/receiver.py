"""Who events are posted to: a small HTTP server that checks signatures by python's own hmac, as a
receiver of Standard Webhooks does, and answers what it is told to."""
import base64
import hmac
import json
import time

from support import signing
from support.stub import Stub

TOLERANCE_S = 300


class Post:
    """One request: its id, whether it is genuine, and the event in it."""

    def __init__(self, asked, secret):
        self.path = asked.path
        self.headers = asked.headers
        self.id = asked.headers.get("webhook-id", "")
        self.stamp = asked.headers.get("webhook-timestamp", "")
        self.signatures = asked.headers.get("webhook-signature", "").split(" ")
        self.body = asked.body
        self.genuine = self.fresh() and self.signed_by(secret)
        self.whole = json.loads(asked.body)
        self.event = self.whole["data"]

    def fresh(self):
        return self.stamp.isdigit() and abs(time.time() - int(self.stamp)) <= TOLERANCE_S

    def signed_by(self, secret):
        key = base64.b64decode(secret.removeprefix("whsec_"))
        want = signing.mac(key, f"{self.id}.{self.stamp}.".encode() + self.body)
        mine = "v1," + base64.b64encode(want).decode()
        return any(hmac.compare_digest(mine, signature) for signature in self.signatures)


class Receiver(Stub):
    """Use as a context manager. say(post) returns a status, or what Stub takes; None closes the
    connection. posts: all that came; taken: event by id, of those that were answered 2xx."""

    def __init__(self, secret, say=lambda post: 204, port=0):
        self.secret = secret
        self.say = say
        self.posts = []
        self.taken = {}
        super().__init__(self.take, port)

    def take(self, asked):
        post = Post(asked, self.secret)
        self.posts.append(post)
        said = self.say(post)
        status = said[0] if isinstance(said, tuple) else said
        if status and 200 <= status < 300:
            assert self.taken.setdefault(post.id, post.event)["task"] == post.event["task"]
        return said if isinstance(said, tuple) or said is None else (said, b"")

    def tries(self, id_):
        return [post for post in self.posts if post.id == id_]
