"""Waiting for a condition: the only place in the tests where time is let pass."""
import threading
import time

FIRST_STEP_S = 0.005
LAST_STEP_S = 0.1

_never = threading.Event()


class Late(AssertionError):
    """The condition did not become true in its time."""


def until(cond, deadline_s, what):
    """Asks cond() again and again until it is true, and returns what it returned. A deadline that
    passes raises Late, with `what` (text, or a function that makes it then) as the reason."""
    end = time.monotonic() + deadline_s
    step = FIRST_STEP_S
    while True:
        value = cond()
        if value:
            return value
        if time.monotonic() >= end:
            reason = what() if callable(what) else what
            raise Late(f"not within {deadline_s} s: {reason}")
        _never.wait(min(step, max(0.0, end - time.monotonic())))
        step = min(step * 1.5, LAST_STEP_S)


def passes(duration_s):
    """Let a length of time pass that is itself part of what is tested (a pause of 10 s)."""
    end = time.monotonic() + duration_s
    until(lambda: time.monotonic() >= end, duration_s + 1, "the clock stands still")


def stays(cond, duration_s, what):
    """cond() holds now and during the whole of duration_s."""
    end = time.monotonic() + duration_s

    def over():
        assert cond(), what() if callable(what) else what
        return time.monotonic() >= end

    until(over, duration_s + 5, "the clock stands still")
