"""p99 of aldaba and of webdis at the same offered rate, which is a share (--load) of what the slower of the
two takes at 64 connections. No coordinated omission: see offered.py."""
import random

from bench import limits, measure, offered, report
from bench.packages import Missing
from bench.part_peers import what
from bench.peer import ready
from bench.stand import Stand

PART = "p99"
CONNECTIONS = 64


def highest(stand, webdis):
    """The lower of both rates in one round."""
    args = stand.args
    count = args.intake_room * args.seconds
    stand.fresh(count)
    theirs = measure.shoot(webdis.url, stand.ids, 0, count, CONNECTIONS, args.seconds, args.wrk_threads,
                           way=webdis.way)
    ours = stand.shoot(count, CONNECTIONS, args.seconds)
    return min(ours.rate, theirs.rate)


def shoot(stand, url, way, first, count, rate):
    args = stand.args
    ids = random.Random(first).sample(range(first, first + count), count)
    return offered.Load(url, way, ids, rate, args.seconds, args.offered_connections,
                        stand.folder).start().result()


def rounds(stand, webdis, rate, found):
    """[(ours, theirs), ...]"""
    args = stand.args
    count = (int(rate) + args.offered_connections) * args.seconds
    pairs = []
    for number in range(args.rounds):
        first = stand.register(count)
        before = stand.arrivals()
        turns = {"aldaba": lambda: shoot(stand, stand.house.public.url, offered.ALDABA_WAY, first, count, rate),
                 "webdis": lambda: shoot(stand, webdis.url, offered.WEBDIS_WAY, first, count, rate)}
        got = {name: turns[name]() for name in (turns if number % 2 else reversed(turns))}
        stand.prove(before, got["aldaba"].answered, 0, got["aldaba"].bad)
        if got["webdis"].bad:
            found.faults.append(f"webdis: {got['webdis'].bad} were not answered 200:"
                                f" {dict(got['webdis'].others)}")
        pairs.append((got["aldaba"], got["webdis"]))
        print(f"offered {got['aldaba'].rate}/s, round {number + 1}:",
              *(f"{name} p50 {one.p50_ms:.2f} ms, p99 {one.p99_ms:.2f} ms;" for name, one in got.items()),
              flush=True)
    return pairs


def run(args, found):
    webdis = None
    title = f"p99, {what('webdis', args.offered_connections)}"
    try:
        found.facts["versions"].update(offered.needs())
        webdis = ready("webdis", args)
        found.facts["versions"].update(webdis.versions)
        with Stand(args, args.settings) as stand:
            rate = highest(stand, webdis) * args.load
            pairs = rounds(stand, webdis, rate, found)
            stand.audit()
            found.faults += stand.faults
    except Missing as why:
        found.add(report.absent(PART, title, str(why), limits.P99_WEBDIS))
        return
    finally:
        if webdis:
            webdis.stop()
    ours = report.row(PART, f"p99 of aldaba at {rate:.0f}/s", [one.p99_ms for one, _ in pairs], unit="ms")
    theirs = report.row(PART, "", [other.p99_ms for _, other in pairs])
    found.add(ours)
    found.add(report.row(PART, title, [one.p99_ms / other.p99_ms for one, other in pairs], limits.P99_WEBDIS,
                         notes=f"webdis {theirs.value:.2f} ms; the same {rate:.0f}/s offered to both"))
