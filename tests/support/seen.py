"""What tests look at again and again in a house."""
from support.until import until

SOON_S = 10


def only_event(house, task_id):
    """The one event of a task that has ended."""
    events = until(lambda: house.events_of(task_id), SOON_S, "no event")
    assert len(events) == 1, events
    return events[0]


def arrivals(house):
    return house.books()["arrivals"]


def more(after, before):
    """What was counted in between, zeros left out."""
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


def demand_audit(house):
    """The books balance, and agree with what is stored."""
    def audit():
        return house.aldaba("audit", "--deep")
    until(lambda: audit().returncode == 0, SOON_S, lambda: audit().stdout)


def knock(house, provider_id, code):
    """A callback without a token."""
    answer = house.public.get("/callback/sandbox", id=provider_id, code=code)
    assert (answer.status, answer.text) == (200, "OK")
