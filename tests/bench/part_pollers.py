"""How many polls one poller holds at once, how many a second it makes, and what batches save.

1. --polls polls, each answered after two seconds, by a poller that is held to one processor.
2. Polls a second against a provider that answers at once (nginx, `return 200`), against a bare loop on
   libcurl and against wrk, with as many connections, by turns. This program plays the tracker, and costs
   processor time that the two others do not need.
3. Two pollers against one, with the same provider.
4. Tasks a request, of tasks that are due at once and are polled in batches, by the sandbox's own count.
"""
import os
import resource
import subprocess
import tempfile
import time

from bench import limits, measure, polls, report
from bench.packages import Missing
from bench.peer import Nginx
from support.house import House
from support.until import until

PART = "pollers"
WAIT_S, ROUNDS = 2.0, 5
CONNECTIONS = 64
UNDER_WAY = 1024  # of one poller: those that wait for a connection, or for their acknowledgement, too
BEGIN_S = 1.0  # until leases are out and connections are open
ENDED_S = 300


class Quick(Nginx):
    """A provider that knows every answer."""
    name, answer = "quick", "OK|answer"


def raise_fds():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def held(args, found):
    said = polls.slow(args.polls, WAIT_S, ROUNDS)
    found.add(report.row(PART, f"polls under way at once, {args.polls:,} wanted", [said.most], limits.POLLS_HELD,
                         "", f"{said.rate:.0f}/s, {said.rate / said.ideal:.2f} of what waiting alone allows;"
                         f" {said.cpu:.0%} of one processor, {said.mib:.0f} MiB"))
    if said.bad:
        found.faults.append(f"{said.bad} slow polls had no answer")


def polled(port, count, seconds, faults):
    """Polls a second of so many pollers together."""
    with tempfile.TemporaryDirectory(prefix="ald-") as folder:
        tracker = polls.Tracker(folder, UNDER_WAY // count)
        pollers = [polls.new_poller(folder, port, UNDER_WAY // count, f"poller{number}",
                                     connections=CONNECTIONS // count)
                   for number in range(count)]
        try:
            for poller in pollers:
                poller.start()
            tracker.turn(time.monotonic() + BEGIN_S)
            clock, before = measure.Clock(), tracker.outcomes
            tracker.turn(time.monotonic() + seconds)
            rate = (tracker.outcomes - before) / clock.seconds()
        finally:
            for poller in pollers:
                poller.clean()
            tracker.sock.close()
    if tracker.bad:
        faults.append(f"{tracker.bad} polls had no answer")
    return rate


def curled(args, url):
    argv = [f"{args.bin}/tests/bench/bare_curl", url, str(CONNECTIONS), str(args.seconds)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=args.seconds + 30, check=True)
    said = measure.figures_of(done.stdout)
    assert not said["bad"], done.stdout
    return said["requests"] / said["us"] * 1e6


def wrk(args, folder, url):
    ids = os.path.join(folder, "ids")
    measure.write_ids(ids, 10**11, args.room * args.seconds)
    shot = measure.shoot(url, ids, 0, args.room * args.seconds, CONNECTIONS, args.seconds, args.wrk_threads)
    return shot.rate


def quick(args, found):
    names = ("polls / requests of a bare libcurl loop", "polls / requests of wrk", "two pollers / one")
    bounds = (limits.POLLS_CURL, limits.POLLS_WRK, limits.POLLS_TWO)
    provider = Quick(args)
    try:
        provider.install()
        found.facts["versions"].update(provider.versions)
        provider.start()
    except Missing as why:
        for name, bound in zip(names, bounds):
            found.add(report.absent(PART, name, str(why), bound))
        return
    try:
        turns = []
        for _ in range(args.rounds):
            turns.append((polled(provider.port, 1, args.seconds, found.faults),
                          curled(args, f"{provider.url}/res.php?action=get&id=1&key=bench"),
                          wrk(args, provider.folder, provider.url),
                          polled(provider.port, 2, args.seconds, found.faults)))
            print("a second: one poller {:.0f}, bare libcurl {:.0f}, wrk {:.0f}, two pollers {:.0f}".format(
                *turns[-1]), flush=True)
    finally:
        provider.stop()
    found.add(report.row(PART, "polls of one poller", [one for one, *_ in turns], unit="/s"))
    found.add(report.row(PART, names[0], [one / curl for one, curl, _, _ in turns], bounds[0]))
    found.add(report.row(PART, names[1], [one / of_wrk for one, _, of_wrk, _ in turns], bounds[1]))
    two(args, found, [both / one for one, _, _, both in turns], names[2], bounds[2])


def two(args, found, ratios, name, bound):
    if args.processors < limits.POLLS_TWO_PROCESSORS:
        found.add(report.absent(PART, name, f"{args.processors} processors, and none is free for a second"
                                f" poller; with them shared {report.row(PART, '', ratios).value:.2f}", bound))
    else:
        found.add(report.row(PART, name, ratios, bound))


def batched(args, found):
    profile = {"poll": {"batch": {"max": args.poll_batch}, "schedule": {"give_up_after": "600s"}}}
    with House(profile=profile) as house:
        house.start()
        house.aldaba("provider", "pause", "sandbox")
        ids = house.submit(args.poll_tasks, fate="drop", solve=0, answer="plain")
        measure.register_ids(house.run, ids)

        def due():
            return house.get("/v1/providers", name="sandbox")["providers"][0]["queued"] == len(ids)

        until(due, ENDED_S, "they are not due")
        house.aldaba("provider", "resume", "sandbox")

        def ended():
            return house.books()["tasks"].get("open", 1) == 0

        until(ended, ENDED_S, lambda: f"{house.books()['tasks']}")
        requests = house.provider_stats()["requests"]["/res.php"]
        done = house.aldaba("audit")
        if done.returncode != 0:
            found.faults.append(f"aldaba audit: {done.stdout}{done.stderr}")
    found.add(report.row(PART, f"tasks a request / batches of {args.poll_batch}",
                         [args.poll_tasks / requests / args.poll_batch], limits.POLLS_BATCH,
                         notes=f"{args.poll_tasks:,} tasks, {requests:,} requests"))


def run(args, found):
    raise_fds()
    held(args, found)
    quick(args, found)
    batched(args, found)
