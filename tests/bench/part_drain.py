"""A spool after an outage: --spooled callbacks that the gateway took in while there was no tracker come in,
while intake goes on at half of its maximum.

Drained are those of the spool; what intake brings meanwhile is in the books beside them. The limit of p99 is
against the same load without a spool.
"""
import time

from bench import limits, measure, offered, report
from bench.packages import Missing
from bench.stand import Stand
from support.until import until

PART = "drain"
DRAINED_S = 3600
STRETCH_S = 5
START_S = 600


def spool_items(stand):
    return int(sum(value for name, value in stand.house.metrics().items()
                   if name.partition("{")[0] == "aldaba_gateway_spool_items"))


def fill(stand, count):
    """The tracker is away, and so many callbacks are in the spool. What was answered 200."""
    stand.tracker.stop(120)
    sent, bad = 0, 0
    while count - sent > 64:  # as many as connections: the last answers of a stretch are not seen
        shot = measure.shoot(stand.house.public.url, stand.ids, sent, count - sent, 64, STRETCH_S, threads=1)
        sent += min(shot.requests, count - sent)  # one thread: they were used in order
        bad += shot.bad
        print(f"spooled {sent} of {count}, {shot.rate:.0f}/s", flush=True)
    if bad:
        stand.faults.append(f"{bad} callbacks were not answered 200 without a tracker")
    items = until(lambda: spool_items(stand), 60, "nothing is in the spool")
    if items < count * 0.95:
        stand.faults.append(f"only {items} of {count} are in the spool")
    return items


def ready_load(stand, rate, seconds):
    count = (int(rate) + stand.args.offered_connections) * seconds
    first = stand.register(count)
    return offered.Load(stand.house.public.url, offered.ALDABA_WAY, range(first, first + count), rate, seconds,
                        stand.args.offered_connections, stand.folder)


def drain(stand, load):
    """(seconds until the spool was empty, what was offered meanwhile, when in microseconds)"""
    stand.tracker.launch().until_ready(START_S)
    clock, begin_us = measure.Clock(), time.time() * 1e6
    load.start()
    until(lambda: spool_items(stand) == 0, DRAINED_S, lambda: f"{spool_items(stand)} in the spool")
    took, end_us = clock.seconds(), time.time() * 1e6
    return took, load.result(), (begin_us, end_us)


def run(args, found):
    title = f"{args.spooled:,} callbacks drained"
    try:
        found.facts["versions"].update(offered.needs())
    except Missing as why:
        found.add(report.absent(PART, title, str(why), limits.DRAIN_RATE))
        return
    with Stand(args, args.settings) as stand:
        room = args.intake_room * args.seconds
        stand.fresh(room)
        highest = stand.shoot(room, 64, args.seconds).rate
        half = highest / 2
        calm = ready_load(stand, half, args.seconds).start().result()
        seconds = max(args.seconds, round(args.spooled / (limits.DRAIN_RATE.floor * highest)))
        load = ready_load(stand, half, seconds)
        stand.fresh(args.spooled)
        before = stand.arrivals()
        items = fill(stand, args.spooled)
        took, busy, window = drain(stand, load)
        prove(stand, before, args.spooled + busy.answered, busy.bad)
        stand.audit()
        found.faults += stand.faults
    write(found, title, items / took, highest, (calm.p99_ms, busy.at(0.99, *window), busy.rate))


def prove(stand, before, answered, bad):
    """Each that was answered has come in."""
    def applied():
        return stand.arrivals().get("applied", 0) - before.get("applied", 0)

    until(lambda: applied() >= answered - 64, 60, lambda: f"{applied()} applied, {answered} answered")
    if bad:
        stand.faults.append(f"{bad} callbacks were not answered 200 while the spool was drained")


def write(found, title, rate, highest, p99s):
    calm_ms, busy_ms, offered_rate = p99s
    found.add(report.row(PART, f"{title} / intake's maximum", [rate / highest], limits.DRAIN_RATE,
                         notes=f"{rate:.0f}/s while {offered_rate:.0f}/s came in; maximum {highest:.0f}/s"))
    if busy_ms is None:
        found.add(report.absent(PART, "p99 of intake, draining / not", "the spool was empty at once",
                                limits.DRAIN_P99))
    else:
        found.add(report.row(PART, "p99 of intake, draining / not", [busy_ms / calm_ms], limits.DRAIN_P99,
                             notes=f"{calm_ms:.2f} ms without, {busy_ms:.2f} ms while it drained"))
