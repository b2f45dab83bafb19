#!/usr/bin/env python3
"""Calls that are not used here, files and functions that grew too long, and words that do not belong in the tree.

Usage: banned.py ROOT
"""

import re

import tree

FILE_LINES = {".c": 500, ".h": 200}
FUNCTION_LINES = 60

CALLS = {
    r"\b(?:strcpy|strcat|sprintf|vsprintf|gets)\s*\(": "writes past the end of its target",
    r"\b(?:atoi|atol|atoll|atof)\s*\(": "reads a number without saying that it is none",
    r"\bstrtok(?:_r)?\s*\(": "changes its input",
    r"\b(?:system|popen)\s*\(": "starts a shell",
    r"\balloca\s*\(": "has no bound",
    r"\bmg_handle_form_request\s*\(": "decodes what must be kept as it came",
    r"\bz(?:hash|list)_\w+": "use zhashx and zlistx",
}
# Calls that have one home, outside of tests.
HOMES = {
    "common/net/sock.c": re.compile(r"\bzsock_new\w*\s*\("),
    "common/net/frame.c": re.compile(r"\b(?:zframe_new|zmsg_(?:add|push)mem)\s*\("),
}

C_SLEEP = re.compile(r"\b(?:sleep|usleep|nanosleep|clock_nanosleep|zclock_sleep)\s*\(")
# asyncio.sleep is left out: pretended peers are slow with it.
PY_SLEEP = re.compile(r"\btime\s*\.\s*sleep\s*\(|\bimport\s+sleep\b|(?<![.\w])sleep\s*\(")
PY_SLEEP_HOMES = ("tests/support/until.py", "tests/sandbox/")

# Spelled in parts, so that this file passes its own check.
BY_NAME = re.compile(r"\b(?:p" + r"kill|kill" + r"all|p" + r"grep)\b")
LATER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b")
MACHINE = re.compile(r"(?<![\w.$}~-])/(?:wo" + r"rk|ho" + r"me|ro" + r"ot)(?:/|\b)")
REGISTRY = re.compile(r"\b(?:registry\.np" + r"mjs|py" + r"pi\.org|file" + r"s\.pythonhosted|crat" + r"es\.io"
                      r"|proxy\.gol" + r"ang|deb\.deb" + r"ian|ruby" + r"gems\.org)\b", re.IGNORECASE)

TEXTS = (".c", ".h", ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".jsonl", ".yaml", ".yml", ".toml", ".js",
         ".html", ".css", ".service", ".conf", ".sql")
# What others recorded is kept to the letter.
RECORDED = ("LICENSE",)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def matches(pattern, name, text, what):
    for match in re.finditer(pattern, text):
        yield name, line_of(text, match.start()), f"{match.group(0).strip(' (')}: {what}"


def functions(code):
    """(first line, number of lines, name) of every function: a brace at the start of a line."""
    lines = code.split("\n")
    start = None
    for number, line in enumerate(lines, 1):
        if line.startswith("{") and start is None:
            start = number
        elif line.startswith("}") and start is not None:
            head = " ".join(lines[max(0, start - 6):start - 1])
            found = re.findall(r"(\w+)\s*\([^;{}]*\)\s*$", head)
            yield start, number - start + 1, found[-1] if found else "?"
            start = None


def check_c(root, name, text):
    code = tree.code_of(text)
    for pattern, why in CALLS.items():
        yield from matches(pattern, name, code, why)
    for home, pattern in HOMES.items():
        if name != home and not name.startswith("tests/"):
            yield from matches(pattern, name, code, f"belongs to {home}")
    if name.startswith("tests/"):
        yield from matches(C_SLEEP, name, code, "a test waits for a condition with a deadline")
    lines = text.count("\n")
    limit = FILE_LINES[name[-2:]]
    if lines > limit:
        yield name, lines, f"{lines} lines, at most {limit}"
    for start, length, function in functions(code):
        if length > FUNCTION_LINES:
            yield name, start, f"{function} has {length} lines, at most {FUNCTION_LINES}"


def check(root):
    for name in tree.files(root):
        text = tree.read(root, name)
        if text is None or name in RECORDED:
            continue
        if name.endswith((".c", ".h")):
            yield from check_c(root, name, text)
        if name.startswith("tests/") and name.endswith(".py") and not name.startswith(PY_SLEEP_HOMES) \
                and not name.startswith("tests/lint/"):
            yield from matches(PY_SLEEP, name, text, "a test waits for a condition with a deadline")
        if name.endswith(TEXTS) or "." not in name.rsplit("/", 1)[-1]:
            yield from matches(BY_NAME, name, text, "processes are ended by their id")
            yield from matches(LATER, name, text, "what is left to do goes into an issue")
            yield from matches(MACHINE, name, text, "a path of one machine")
            yield from matches(REGISTRY, name, text, "a registry is named where packages are installed")


if __name__ == "__main__":
    tree.run(check)
