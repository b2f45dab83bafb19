"""Figures of a fault test: printed, and appended as a JSON line to $ALDABA_FAULT_TALLY, where
tests/fault/run adds them up."""
import json
import os


def tally(test, **figures):
    line = {"test": test, **figures}
    print(" ".join(f"{name}={value}" for name, value in line.items()))
    path = os.environ.get("ALDABA_FAULT_TALLY")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def seed():
    """What a test's luck comes from: $ALDABA_FAULT_SEED, else 1."""
    return int(os.environ.get("ALDABA_FAULT_SEED", "1"))


def is_long():
    """Are we in the long form?"""
    return os.environ.get("ALDABA_FAULT_LONG", "") == "1"


def scale(short, long):
    return long if is_long() else short
