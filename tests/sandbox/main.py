"""A provider of asynchronous work that speaks in.php, res.php and pingback, and misbehaves on
request: python3 tests/sandbox/main.py --help"""
import argparse
import asyncio
import resource
import signal
import sys

from fates import DEMONSTRATION, FATES, MOODS, parse_weights
from protocol import Routes
from provider import Provider
from server import Server


def words(known):
    return "\n".join(f"  {name:10} {meaning}" for name, meaning in known.items())


def weights(known):
    def parse(text):
        try:
            return parse_weights(text, known)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return parse


EPILOG = f"""fates of tasks (--fates, or fate= in a submission; fate=a,b: of the first one of a ref=, of later ones):
{words(FATES)}

moods of polls (--moods, or moods=a,b,... in a submission: one a poll, then the truth; `a*` stays):
{words(MOODS)}

more in a submission: answer=TEXT, solve=SECONDS, late=SECONDS, times=N,
keep=SECONDS (then the task is forgotten), method_of_pingback=get|post.

control:
  GET  /_sandbox/stats    what happened, in numbers; callbacks.to_come 0 = at rest
  GET  /_sandbox/ledger   a JSON line a task: what was sent, what was acknowledged
  GET  /_sandbox/times?path=/res.php   when each request of a path came, in seconds
  POST /_sandbox/submit?n=100&pingback=URL&...   make tasks, answers {{"ids": [...]}}
  POST /_sandbox/fates?weights=...  /_sandbox/moods?weights=...   from now on
"""


def parse_arguments(argv):
    parser = argparse.ArgumentParser(
        prog="sandbox", description=__doc__, epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=0, help="0 takes a free one (default)")
    add("--key", default="", help="the only account key that is accepted (default: any)")
    add("--whsec", default="whsec_c2FuZGJveC1zYW5kYm94LXNhbmQ=",
        help="what webhooks of predictions are signed with")
    add("--memory", default="", metavar="FILE",
        help="keep tasks and their answers here, and know them after a restart")
    add("--seed", type=int, default=1, help="the same seed makes the same choices")
    add("--fates", type=weights(FATES), default={}, metavar="NAME=WEIGHT,...",
        help=f"weights of fates (default: ok), such as {DEMONSTRATION}")
    add("--moods", type=weights(MOODS), default={}, metavar="NAME=WEIGHT,...",
        help="weights of moods (default: truth)")
    add("--pingback", choices=("get", "post", "mixed"), default="post",
        help="method of callbacks: post is a form")
    add("--solve", type=float, default=0.2, help="seconds until an answer is there, +-50 %%")
    add("--late", type=float, default=3.0, help="seconds that a late callback takes longer")
    add("--callback-concurrency", type=int, default=64)
    add("--callback-timeout", type=float, default=10.0, help="seconds")
    add("--callback-retries", type=int, default=0, help="tries after one that got no 2xx")
    add("--retry-wait", type=float, default=0.5, help="seconds between two tries")
    add("--huge-mib", type=int, default=32, help="size of a huge answer")
    add("--drip", type=float, default=0.2, help="seconds a byte of a slow answer")
    return parser.parse_args(argv)


async def run(options):
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = Server(Routes(Provider(options), options).handle)
    try:
        port = await server.start(options.host, options.port)
    except OSError as error:
        print(f"cannot listen on {options.host}:{options.port}: {error.strerror}", file=sys.stderr)
        return 69
    print(f"ready port={port}", file=sys.stderr, flush=True)
    await stop.wait()
    await server.stop()
    return 0


def main(argv=None):
    options = parse_arguments(argv)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    return asyncio.run(run(options))


if __name__ == "__main__":
    sys.exit(main())
