"""What all four services have when they are empty, and what they use with --idle-tasks pending and nothing
to do."""
from bench import limits, measure, report
from bench.stand import Stand
from support.until import passes

PART = "idle"
CALM_S = 5


def used_percent(pids, seconds):
    """{name: percent of one processor}"""
    before = {name: measure.cpu_s(pid) for name, pid in pids.items()}
    clock = measure.Clock()
    passes(seconds)
    took = clock.seconds()
    return {name: (measure.cpu_s(pid) - before[name]) / took * 100 for name, pid in pids.items()}


def resident_mib(stand):
    return {name: daemon.rss_kib() / 1024 for name, daemon in stand.house.daemons.items()}


def shared_mib(stand):
    """The same, what they share divided by who shares it."""
    return sum(measure.proportional_bytes(daemon.pid) for daemon in stand.house.daemons.values()) / 2**20


def each(figures):
    return ", ".join(f"{name} {report.number(value)}" for name, value in figures.items())


def run(args, found):
    with Stand(args, args.settings, pollers=1) as stand:
        passes(CALM_S)
        empty = resident_mib(stand)
        found.add(report.row(PART, "resident memory of all four, empty", [sum(empty.values())],
                             limits.IDLE_MIB, "MiB", f"{each(empty)}; {shared_mib(stand):.0f} MiB with what they"
                             " share counted once"))
        stand.register(args.idle_tasks)
        passes(max(CALM_S, args.idle_seconds))  # the index of what was registered is filled later
        used = used_percent(stand.pids(), args.idle_seconds)
        found.add(report.row(PART, f"processor of the busiest, {args.idle_tasks:,} pending",
                             [max(used.values())], limits.IDLE_CPU, "%", each(used)))
        stand.audit()
        found.faults += stand.faults
