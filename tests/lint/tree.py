"""The tracked files of a source tree, and C text without what is not code. For the lints beside this."""

import pathlib
import re
import subprocess
import sys

NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(match):
    """Keep the lines and the quotes, so that numbers of lines stay and a text stays a text."""
    text = match.group(0)
    if text[0] in "\"'":
        return text[0] + " " * (len(text) - 2) + text[0]
    return re.sub(r"[^\n]", " ", text)


def code_of(text):
    """C text with comments and the insides of literals blanked out; lines and columns stay."""
    return NOT_CODE.sub(blank, text)


def files(root, *suffixes):
    """Tracked files and those not tracked yet (ignored ones not), as paths relative to root.

    A folder that is no repository, as the self-test makes them, is taken whole.
    """
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, check=False)
    top = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-toplevel"],
                         capture_output=True, check=False, text=True)
    if listed.returncode == 0 and pathlib.Path(top.stdout.strip()) == root:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    return sorted(name for name in set(names)
                  if (root / name).is_file() and (not suffixes or name.endswith(suffixes)))


def read(root, name):
    """The text of a file, or None when it is not text."""
    try:
        return (root / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def run(check):
    """Run check(root) over the tree named on the command line; print findings; end the process."""
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(check(root))
    for name, line, what in found:
        print(f"{name}:{line}: {what}")
    sys.exit(1 if found else 0)
