"""The provider's memory: tasks, what was planned for each, what really happened (the ledger).

The ledger is an oracle that stands outside of what is tested: it is filled by what this process
sent and by what it got back on its own sockets, and by nothing else.
"""
import asyncio
import collections
import random
import time

from callbacks import BREAK, Caller
from fates import ERROR_CODE, FATES, MOODS, ORDERS, Chooser, make_answer
from memory import Memory

EPOCH_S = 1767225600  # 2026-01-01
REORDER_DEPTH = 4
REORDER_HOLD_S = 1.0


class Task:
    """One submitted task. ready_at is on the loop's clock; wall times are for people."""

    def __init__(self, number, index, params):
        self.id = str(number)
        self.index = index
        self.params = params
        self.pingback = params.get("pingback", "")
        self.created_ms = int(time.time() * 1000)
        self.fate = "ok"
        self.answer = ""
        self.ready_at = 0.0
        self.callbacks = []
        self.polls = 0
        self.moods = [m for m in params.get("moods", "").split(",") if m]
        self.reports = []
        self.encode = None  # makes a callback that is no form: (body, headers)

    def ledger(self):
        return {"id": self.id, "ref": self.params.get("ref", ""), "fate": self.fate, "answer": self.answer,
                "created_ms": self.created_ms, "pingback": self.pingback, "polls": self.polls,
                "callbacks": self.callbacks, "reports": self.reports}

    def next_mood(self):
        """The mood that the submission asked for, for the next poll; "" when none is left."""
        if not self.moods:
            return ""
        stays = self.moods[0].endswith("*")
        return self.moods[0][:-1] if stays else self.moods.pop(0)

    def forgotten(self):
        """Is it older than `keep` seconds, if the submission said how long it is kept?"""
        keep_s = self.number("keep", 0)
        return keep_s > 0 and time.time() * 1000 - self.created_ms > keep_s * 1000

    def number(self, name, otherwise):
        """A number among the parameters of the submission."""
        try:
            return float(self.params.get(name, otherwise))
        except ValueError:
            return otherwise


class Provider:
    def __init__(self, options):
        self.options = options
        self.tasks = {}
        self.memory = Memory(options.memory)
        self.caller = Caller(options)
        self.fates = Chooser(options.seed, options.fates, "ok")
        self.moods = Chooser(options.seed, options.moods, "truth")
        self.mood_counts = collections.Counter()
        self.requests = collections.Counter()
        self.submissions = collections.Counter()  # of each ref, as far as they became tasks
        self.orders = {}  # ref -> what becomes of its next requests
        self.heard = []  # parameters of the requests to submit, as they came
        self.request_times = collections.defaultdict(list)
        self.polls = 0
        self.planned = 0
        self.held = []
        self.running = set()
        # Numbers begin at the time of the start, so that no id comes again after a restart.
        self.next_number = int((time.time() - EPOCH_S) * 100_000)

    # ---- submission ----

    def submit(self, params):
        """A new task; raises ValueError when a fate or mood is asked for that there is not."""
        name, _, amount = self.wanted_fate(params).replace(":", "=").partition("=")
        if name and name not in FATES:
            raise ValueError(f"unknown fate {name!r}; known are: {', '.join(FATES)}")
        task = Task(self.next_number, len(self.tasks), params)
        for mood in task.moods:
            if mood.rstrip("*") not in MOODS:
                raise ValueError(f"unknown mood {mood!r}; known are: {', '.join(MOODS)}")
        self.next_number += 1
        self.tasks[task.id] = task
        task.fate = name or self.fates.pick("fate", task.index)
        if name == "late" and amount:
            task.params["late"] = amount
        task.answer = params.get("answer") or make_answer(self.options.seed, task.index)
        if task.fate == "error":
            task.answer = ERROR_CODE
        luck = random.Random(f"{self.options.seed}/solve/{task.index}")
        solve_s = task.number("solve", self.options.solve * luck.uniform(0.5, 1.5))
        task.ready_at = asyncio.get_running_loop().time() + solve_s
        self.memory.add(task, solve_s)
        return task

    def wanted_fate(self, params):
        """Of `fate=a,b` the first submission of a `ref=` has a, all others b."""
        words = params.get("fate", "").split(",")
        ref = params.get("ref", "")
        before = self.submissions[ref]
        self.submissions[ref] += 1
        return words[min(before, len(words) - 1)]

    def order(self, params):
        """What becomes of this request to submit: the next word of `orders=` for its `ref=`."""
        ref, words = params.get("ref", ""), params.get("orders", "")
        left = self.orders.setdefault(ref, [word for word in words.split(",") if word])
        word = left.pop(0) if left else "truth"
        if word not in ORDERS:
            raise ValueError(f"unknown order {word!r}; known are: {', '.join(ORDERS)}")
        return word

    async def begin(self, task):
        """Set the task's fate going. An early callback is over when this returns."""
        if task.fate == "early":
            task.ready_at = asyncio.get_running_loop().time()
            if task.pingback:
                await self.caller.begin(task, task.answer, self.method(task))
        elif task.pingback and task.fate not in ("drop", "never", "lost"):
            self.planned += 1
            job = asyncio.ensure_future(self.follow(task))
            self.running.add(job)
            job.add_done_callback(self.running.discard)

    def method(self, task, copy=0):
        """get or post, for the copy-th callback of a task."""
        wish = task.params.get("method_of_pingback") or self.options.pingback
        if wish != "mixed":
            return wish
        return ("get", "post")[(task.index + copy) % 2]

    # ---- callbacks ----

    async def follow(self, task):
        """Wait for the answer and send what the fate says."""
        try:
            loop = asyncio.get_running_loop()
            await asyncio.sleep(max(0.0, task.ready_at - loop.time()))
            if task.fate == "reorder":
                self.hold(task)
            else:
                await self.act(task)
        finally:
            self.planned -= 1

    async def act(self, task):
        call, answer = self.caller.begin, task.answer
        if task.fate == "late":
            await asyncio.sleep(task.number("late", self.options.late))
        if task.fate == "broken":
            call(task, answer, "post", BREAK)
        elif task.fate == "double":
            for copy in range(int(task.number("times", 2))):
                call(task, answer, self.method(task, copy))
        elif task.fate == "conflict":
            await call(task, answer, self.method(task))
            call(task, answer[::-1] + "-other", self.method(task, 1))
        else:
            call(task, answer, self.method(task))

    def hold(self, task):
        """Keep the callback back until others have come, then let them go in another order."""
        self.held.append(task)
        if len(self.held) >= REORDER_DEPTH:
            self.release()
        elif len(self.held) == 1:
            asyncio.get_running_loop().call_later(REORDER_HOLD_S, self.release)

    def release(self):
        held, self.held = self.held, []
        for task in reversed(held):
            self.caller.begin(task, task.answer, self.method(task))

    # ---- polls ----

    def truth(self, task_id):
        """What the protocol says about a task: (True, answer) or (False, code)."""
        if not task_id.isdigit():
            return False, "ERROR_WRONG_ID_FORMAT"
        task = self.tasks.get(task_id)
        if task is not None and not task.forgotten():
            known = task.fate, task.answer, asyncio.get_running_loop().time() >= task.ready_at
        else:
            known = self.memory.find(task_id)
        if not known or known[0] == "lost":
            return False, "ERROR_WRONG_CAPTCHA_ID"
        fate, answer, ready = known
        if fate == "never" or not ready:
            return False, "CAPCHA_NOT_READY"
        return fate != "error", answer

    def mood_of_poll(self, task_ids):
        """Count a poll and say how it is to be answered: the task's own list first, then luck."""
        self.polls += 1
        mood = ""
        for task_id in task_ids:
            task = self.tasks.get(task_id)
            if task is None:
                continue
            task.polls += 1
            mood = mood or task.next_mood() or self.moods.pick("mood", task.index, task.polls)
        mood = mood or "truth"
        self.mood_counts[mood] += 1
        return mood

    # ---- what happened ----

    def stats(self):
        fates = collections.Counter(task.fate for task in self.tasks.values())
        by_status = self.caller.by_status
        return {
            "submitted": len(self.tasks),
            "fates": dict(fates),
            "callbacks": {
                "sent": self.caller.sent,
                "answered": {k: n for k, n in by_status.items() if k != "None"},
                "unanswered": by_status["None"],
                "acknowledged": sum(n for k, n in by_status.items() if k.startswith("2")),
                # Those that will come or are on their way: 0 means that the provider is at rest.
                "to_come": self.planned + len(self.held) + self.caller.under_way,
            },
            "polls": self.polls,
            "moods": dict(self.mood_counts),
            "requests": dict(self.requests),
        }
