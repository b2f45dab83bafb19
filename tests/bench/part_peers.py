"""Callbacks taken in, aldaba and its peers by turns: the same load, the same bytes, rounds interleaved.

Of each round and number of connections, every one is shot at once for --seconds; the order is another each
round. The row of a peer is aldaba's rate as a share of the peer's in the same round, the median of all rounds.
"""
from bench import limits, measure, report
from bench.packages import Missing
from bench.peer import KINDS, ready
from bench.stand import Stand

PART = "peers"
ROOM = 150000  # callbacks a second that a round is prepared for


def wake(args, found, versions):
    """The peers that can be had. Of others, found gets a row that says why not."""
    for name in args.peers:
        try:
            peer = ready(name, args)
        except Missing as why:
            for connections in args.connections:
                found.add(report.absent(PART, what(KINDS[name].title, connections), str(why),
                                        limits.of_peer(name, connections)))
            print(f"{name}: {why}", flush=True)
            continue
        versions.update({key: value for key, value in peer.versions.items() if value})
        yield peer


def what(title, connections):
    return f"aldaba / {title}, {connections} connections"


def used_up(args, name, shot, count, connections):
    """Whoever takes all callbacks before the time is over has a higher rate than is measured. None: it did not."""
    if shot.requests >= count - connections and not args.small:
        return f"{name} took all {count} callbacks of a round: --room and --intake-room are too low"
    return None


def aldaba_round(stand, count, connections, seconds):
    usage = measure.Usage(stand.pids())
    shot = stand.shoot(count, connections, seconds)
    return shot, usage.spent()


def peer_round(stand, peer, first, count, connections, seconds, faults):
    """The ids are the same as aldaba's, in the same order."""
    peer.expect(first, count)
    kept = peer.kept()
    usage = measure.Usage(peer.pids())
    shot = measure.shoot(peer.url, stand.ids, 0, count, connections, seconds, stand.args.wrk_threads,
                         way=peer.way)
    spent = usage.spent()
    if kept is not None and peer.kept() - kept < shot.requests - shot.bad - connections:
        faults.append(f"{peer.title} kept {peer.kept() - kept} of {shot.requests - shot.bad}")
    if shot.bad:
        faults.append(f"{peer.title}: {shot.bad} answers were no 200")
    return shot, spent


def tell(name, connections, number, shot, spent):
    print(f"{connections:3} connections, round {number + 1}, {name:9} {shot.rate:9.0f}/s, p50 {shot.p50_ms:6.2f}"
          f" ms, p99 {shot.p99_ms:6.2f} ms; us CPU a request: wrk {shot.spent[0] * 1e6 / shot.requests:.1f}",
          *(f"{part} {cpu * 1e6 / shot.requests:.1f}" for part, (cpu, *_) in spent.items()), flush=True)


def turn(stand, peers, connections, number, rates, faults):
    """One round of all; rates: {name: [a second, ...]}"""
    args = stand.args
    count, ours = args.room * args.seconds, args.intake_room * args.seconds
    first = stand.fresh(ours, max(0, count - ours))
    order = ["aldaba", *peers]
    order = order[number % len(order):] + order[:number % len(order)]
    for name in order:
        if name == "aldaba":
            shot, spent = aldaba_round(stand, ours, connections, args.seconds)
        else:
            shot, spent = peer_round(stand, peers[name], first, count, connections, args.seconds, faults)
        out = used_up(args, name, shot, ours if name == "aldaba" else count, connections)
        if out:
            faults.append(out)
        rates.setdefault(name, []).append(shot.rate)
        tell(name, connections, number, shot, spent)


def run(args, found):
    peers = {}
    try:
        for peer in wake(args, found, found.facts["versions"]):
            peers[peer.name] = peer
        with Stand(args, args.settings) as stand:
            for connections in args.connections:
                rates = {}
                for number in range(args.rounds):
                    turn(stand, peers, connections, number, rates, found.faults)
                write(found, peers, connections, rates)
            stand.audit()
            found.faults += stand.faults
    finally:
        for peer in peers.values():
            peer.stop()


def write(found, peers, connections, rates):
    """A row for aldaba itself, and one for each peer."""
    ours = rates["aldaba"]
    found.add(report.row(PART, f"aldaba, {connections} connections", ours, unit="/s",
                         notes="durable, deduplicated, tracked, published"))
    for name, peer in peers.items():
        ratios = [mine / theirs for mine, theirs in zip(ours, rates[name])]
        median = report.row(PART, "", rates[name]).value
        found.add(report.row(PART, what(peer.title, connections), ratios,
                             limits.of_peer(name, connections),
                             notes=f"{report.number(median)}/s; durability: {peer.durable}"))
