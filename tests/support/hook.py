"""A sink's receiver as a process of its own, to be killed: writes down each post and then takes it.
python3 hook.py PORT SECRET LOG. A line of LOG: ID GENUINE TASK."""
import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # this folder has an http.py

from support.receiver import Receiver  # noqa: E402
from support.until import passes  # noqa: E402

if __name__ == "__main__":
    PORT, SECRET, LOG = sys.argv[1:]
    LINES = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def say(post):
        os.write(LINES, f"{post.id} {int(post.genuine)} {post.event['task']}\n".encode())
        return 204

    with Receiver(SECRET, say, int(PORT)):
        print("ready", file=sys.stderr, flush=True)
        while True:
            passes(60)
