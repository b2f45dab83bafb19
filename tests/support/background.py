"""What goes on beside a test, in threads, while it kills things."""
import http.client
import threading

from support.until import passes

RETRY_S = 0.1
NOT_NOW = (429, 503, 504)


class Background:
    """Use as a context manager. step() is called by each thread again and again, with a pause
    before it, until it returns False or, when it is endless, until the context is left; leaving
    waits for the steps under way."""

    def __init__(self, threads=1, pause_s=0.1, endless=True, last_s=60):
        self.pause_s = pause_s
        self.endless = endless
        self.last_s = last_s
        self.errors = []
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        if self.endless or kind is not None:
            self.ending.set()
        for thread in self.threads:
            thread.join(self.last_s if kind is None else 1)
        if kind is None:
            assert not self.errors, self.errors[:5]
            assert not self.busy(), "what goes on in the background does not end"

    def busy(self):
        return any(thread.is_alive() for thread in self.threads)

    def run(self):
        try:
            while not self.ending.wait(self.pause_s) and self.step() is not False:
                pass
        except Exception as error:  # a thread has nobody else to tell
            self.errors.append(repr(error))

    def step(self):
        raise NotImplementedError


def task_for_certain(house, key, **task):
    """The task that aldaba made of this, asked for again and again until there is an answer."""
    while True:
        try:
            answer = house.private.post_json("/v1/tasks", task, {"Idempotency-Key": key})
        except (OSError, http.client.HTTPException):
            passes(RETRY_S)
            continue
        if answer.status in (200, 202):
            return answer.json()
        assert answer.status in NOT_NOW, answer
        passes(RETRY_S)
