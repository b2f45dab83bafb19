"""What becomes of a task's callback and of a poll: words, weights, and a choice that repeats.

A choice depends on the seed and on what it is for (the n-th task, the n-th poll of a task), never
on time or on the order of arrival: the same seed makes the same run.
"""
import random

FATES = {
    "ok": "one callback, in time",
    "drop": "the callback is never sent",
    "double": "the callback is sent twice (times=N: N times)",
    "late": "the callback comes late=SECONDS after the answer is there",
    "early": "the callback comes before the response to the submission",
    "reorder": "the callback waits for others and overtakes or is overtaken",
    "conflict": "a second callback says something else",
    "broken": "the callback breaks off in the middle of its body",
    "error": "the task ends with ERROR_CAPTCHA_UNSOLVABLE",
    "never": "no callback, and polls say `not ready` for ever",
    "lost": "no callback, and polls say ERROR_WRONG_CAPTCHA_ID",
}

MOODS = {
    "truth": "the right answer",
    "html502": "502 with a page of HTML",
    "html200": "200 with a page of HTML",
    "ban1005": "ERROR: 1005",
    "empty": "200 with an empty body",
    "notready": "CAPCHA_NOT_READY, whatever the truth",
    "notready2": "CAPTCHA_NOT_READY, the other spelling, whatever the truth",
    "huge": "a chunked body without end",
    "slow": "a body that drips, a byte at a time",
    "half": "the connection closes in the middle of the body",
    "hang": "no answer at all",
    "error": "ERROR_SOMETHING_NEW, a code that nobody documented",
    "noslot": "ERROR_NO_SLOT_AVAILABLE",
    "server": "ERROR_SERVER_ERROR",
    "429": "429 with Retry-After",
}

# What becomes of a request to submit. Those with "took" make the task, whatever the client hears.
ORDERS = {
    "truth": "the task is taken, and its id is the answer",
    "took-cut": "the task is taken; the connection closes without an answer",
    "took-502": "the task is taken; the answer is 502 with a page of HTML",
    "took-hang": "the task is taken, and no answer comes",
    "521": "nothing is taken: 521 with a page of HTML",
    "noslot": "nothing is taken: ERROR_NO_SLOT_AVAILABLE",
    "balance": "nothing is taken: ERROR_ZERO_BALANCE",
    "ban1003": "nothing is taken: ERROR: 1003",
    "pageurl": "nothing is taken: ERROR_PAGEURL",
    "new": "nothing is taken: ERROR_SOMETHING_NEW, a code that nobody documented",
}

DEMONSTRATION = "ok=50,drop=15,double=8,late=8,early=4,reorder=6,conflict=3,broken=4,error=2"

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789-_"
ERROR_CODE = "ERROR_CAPTCHA_UNSOLVABLE"


def parse_weights(text, known):
    """`name=weight,...` to a dict. A name alone weighs 1. ValueError names the unknown word."""
    weights = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, weight = part.partition("=")
        if name not in known:
            raise ValueError(f"unknown word {name!r}; known are: {', '.join(known)}")
        weights[name] = float(weight or 1)
        if weights[name] < 0:
            raise ValueError(f"the weight of {name} is below zero")
    return weights


class Chooser:
    """Picks words by weight, repeatably."""

    def __init__(self, seed, weights, otherwise):
        self.seed = seed
        self.otherwise = otherwise
        self.weights = weights

    def pick(self, *what):
        """The word for `what` (any values that name the occasion)."""
        names = [name for name, weight in self.weights.items() if weight > 0]
        if not names:
            return self.otherwise
        if len(names) == 1:
            return names[0]
        luck = random.Random(f"{self.seed}/{what}")
        return luck.choices(names, [self.weights[name] for name in names])[0]


def make_answer(seed, index):
    """An answer of one of the shapes that providers give, different for each task."""
    luck = random.Random(f"{seed}/answer/{index}")
    body = "".join(luck.choices(LETTERS, k=40))
    shape = index % 8
    if shape == 3:
        return f"{luck.randrange(360)}|{luck.randrange(360)}|-{luck.randrange(360)}|{body[:12]}"
    if shape == 5:
        return f"coordinate:x={luck.randrange(400)},y={luck.randrange(300)};{body[:12]}"
    if shape == 6:
        return f"{body[:20]}+{body[20:]}/=="
    return f"03A{body}"
