#!/usr/bin/env python3
"""Failpoints: the table of names, the code and docs/HACKING.md say the same; each name is used once; what
brings something to a disk or to another process is at a failpoint. And bugs that are made on purpose
(common/base/bug.h) are in no build but that of the test that makes them.

Usage: failpoints.py ROOT
"""

import re

import tree

TABLE = "common/base/failpoint.c"
BUGS = "common/base/bug.h"
DOCUMENT = "docs/HACKING.md"
OURS = ("common/", "services/")
# A program of somebody else's; it has its own tests.
LEFT_OUT = ("common/client/",)

USE = re.compile(r'\b(?:ALD_FAILPOINT\w*|ALD_SOCK_SEND(?:_THEN)?)\(\s*"([^"]*)"')
NAMES = re.compile(r'failpoint_names\[\] = \{(.*?)\};', re.DOTALL)
ROW = re.compile(r"^\| `([a-z]+\.[a-z_]+)` \|", re.MULTILINE)
OUT = re.compile(r"\b(?:fsync|fdatasync|rename|renameat2|sqlite3_wal_checkpoint_v2|ald_sock_send(?:_then)?)\s*\(|"
                 r"->xSync\(")
AT_ONE = re.compile(r"\b(?:ALD_FAILPOINT\w*|ALD_SOCK_SEND(?:_THEN)?)\(")
COMMIT = re.compile(r'store_command\([^;]*"COMMIT"')
# A failpoint's own words, and what it is made of.
MACROS = ("common/base/failpoint.h", "common/net/sock.h", "common/net/sock.c")
# What it sends was at a failpoint when it was said; there is another one where it leaves.
SAID = ("common/net/gate.c",)

BUG = re.compile(r"\bALD_BUG\((\w+)\)")
BUG_PLACE = re.compile(r"\bald_bug\((\w+) (\S+)\)")
BUG_BUILD = re.compile(r"ALDABA_" + r"BUG\b|\bALD_BUG_\w+=")
BUG_HOMES = (BUGS, "cmake/strict.cmake", "tests/fault/mutants.py", "tests/lint/failpoints.py")


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def statement(code, at):
    """From the end of what stands before up to here; with a failpoint's step before it."""
    start = max(code.rfind(mark, 0, at) for mark in ";{}")
    before = max(code.rfind(mark, 0, max(start, 0)) for mark in ";{}")
    step = code[before + 1:start].strip().startswith("ALD_FAILPOINT_STEP(")
    return code[(before if step else start) + 1:at]


def uses(root, names):
    """(file, line, name) of every failpoint."""
    for name in names:
        if name in MACROS[:2] or not name.startswith(OURS):
            continue
        text = tree.read(root, name)
        for match in USE.finditer(text):
            yield name, line_of(text, match.start()), match.group(1)


def check_names(root, names):
    table = set(re.findall(r'"([^"]+)"', NAMES.search(tree.read(root, TABLE)).group(1)))
    documented = ROW.findall(tree.read(root, DOCUMENT))
    seen = {}
    for where, line, used in uses(root, names):
        if used not in table:
            yield where, line, f"{used} is not in {TABLE}"
        if used in seen:
            yield where, line, f"{used} is the name of another place: {seen[used]}"
        seen[used] = f"{where}:{line}"
    for missing in sorted(table - set(seen)):
        yield TABLE, 1, f"{missing} is nowhere in the code"
    for missing in sorted(table - set(documented)):
        yield DOCUMENT, 1, f"the failpoint {missing} has no row"
    for strange in sorted(set(documented) - table):
        yield DOCUMENT, 1, f"there is no failpoint {strange}"


def check_places(root, names):
    for name in names:
        if not name.startswith(OURS) or name.startswith(LEFT_OUT) or name in MACROS + SAID:
            continue
        text = tree.read(root, name)
        code = tree.code_of(text)
        for match in OUT.finditer(code):
            if not AT_ONE.search(statement(code, match.start())):
                yield name, line_of(code, match.start()), f"{match.group(0)}...): at no failpoint"
        for match in COMMIT.finditer(text):
            if not AT_ONE.search(statement(code, match.start())):
                yield name, line_of(text, match.start()), "a commit at no failpoint"


def check_bugs(root, names):
    known = set(re.findall(r"#ifndef ALD_BUG_(\w+)", tree.read(root, BUGS)))
    used, placed = {}, {}
    for name in tree.files(root):
        text = tree.read(root, name)
        if text is None or name in BUG_HOMES:
            continue
        if name.endswith(".c"):
            used.update({bug: name for bug in BUG.findall(text)})
        if name.endswith("CMakeLists.txt"):
            folder = name.rpartition("/")[0]
            placed.update({bug: f"{folder}/{file}" for bug, file in BUG_PLACE.findall(text)})
        if not name.endswith(".md"):
            for match in BUG_BUILD.finditer(text):
                yield name, line_of(text, match.start()), "a build that is broken on purpose"
    for bug in sorted(known | set(used) | set(placed)):
        if bug not in known or used.get(bug) is None or used.get(bug) != placed.get(bug):
            yield BUGS, 1, f"{bug}: used in {used.get(bug)}, made in {placed.get(bug)}"


def check(root):
    names = tree.files(root, ".c", ".h")
    yield from check_names(root, names)
    yield from check_places(root, names)
    yield from check_bugs(root, names)


if __name__ == "__main__":
    tree.run(check)
