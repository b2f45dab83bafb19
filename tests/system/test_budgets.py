"""Budgets and blocks belong to the account: true for any number of pollers, over kills of the
tracker, and no task fails for them. The sandbox counts by itself what reaches it."""
import pytest
from support.house import House
from support.ledger import Ledger, settle
from support.settings import merge, sandbox_profile
from support.until import until

SOON_S = 20
SLOW = {"poll": {"schedule": {"give_up_after": "120s"}}}


def budget(**keys):
    return {**SLOW, "budgets": [{"name": "res.php", **keys}]}


def register_all(house, count, **params):
    ledger = Ledger()
    for provider_id in house.submit(count, fate="drop", **params):
        ledger.registered(provider_id, house.register(provider_id)["id"])
    return ledger


def provider(house, name="sandbox"):
    (one,) = house.get("/v1/providers", name=name)["providers"]
    return one


def gauge(house, name):
    """aldaba_provider_<name> of the sandbox's account."""
    (value,) = [value for key, value in house.metrics().items()
                if key.startswith(f"aldaba_provider_{name}{{") and 'provider="sandbox"' in key]
    return value


def times(house):
    """When each poll reached the provider, in seconds."""
    return sorted(house.provider.get("/_sandbox/times", path="/res.php").json())


def busiest(moments, window_s):
    """Most requests in any window of this length."""
    return max((sum(begin <= at < begin + window_s for at in moments) for begin in moments),
               default=0)


def test_example():
    """Two pollers, five requests a second: the provider never sees six."""
    with House(pollers=2, profile=budget(requests=5, per="1s")) as house:
        house.start()
        ledger = register_all(house, 40, solve=0)
        verdict = settle(house, ledger).demand()
        assert verdict.sources == {"poll": 40}
        assert busiest(times(house), 1.0) <= 5
        (seen,) = provider(house)["budgets"]
        assert (seen["limit"], seen["hinted_limit"], seen["per_ms"]) == (4, 1, 1000)


def test_a_killed_tracker_forgets_no_request():
    """What was handed out before the kill still counts after it."""
    with House(pollers=2, profile=budget(requests=6, per="2s")) as house:
        house.start()
        ledger = register_all(house, 24, solve=0)
        for polls in (3, 9, 15):
            until(lambda n=polls: len(times(house)) >= n, SOON_S, "no polls come")
            house.tracker.kill9()
            house.tracker.start()
            house.until_serving()
        assert settle(house, ledger).demand().sources == {"poll": 24}
        assert busiest(times(house), 2.0) <= 6


def test_min_gap():
    """Leases are apart; what the ways to the provider add may take a little of it back."""
    with House(pollers=2, profile=budget(min_gap="300ms")) as house:
        house.start()
        ledger = register_all(house, 12, solve=0)
        settle(house, ledger).demand()
        moments = times(house)
        assert moments[-1] - moments[0] >= 0.3 * (len(moments) - 1) - 0.25


def test_formula():
    """R <= 1*C + 3: with six tasks there are nine polls, and not one more until there are seven."""
    with House(pollers=2, profile=budget(formula="R <= 1*C + 3", hint_share="0%")) as house:
        house.start()
        ledger = register_all(house, 6, solve=0, moods="notready*")
        until(lambda: len(times(house)) == 9, SOON_S, lambda: f"{len(times(house))} polls of 9")
        until(lambda: provider(house)["queued"] == 6, SOON_S, lambda: provider(house))
        house.tracker.kill9()
        house.tracker.start()
        house.until_serving()
        until(lambda: provider(house)["queued"] == 6, SOON_S, lambda: provider(house))
        assert len(times(house)) == 9, "a restart gave polls"
        (one,) = house.submit(1, fate="drop", solve=0)
        ledger.registered(one, house.register(one)["id"])
        until(lambda: len(times(house)) == 10, SOON_S, lambda: f"{len(times(house))} polls of 10")
        for provider_id in ledger.tasks:
            answer = house.public.get("/callback/sandbox", id=provider_id, code="A")
            ledger.noted(provider_id, "A", answer.status)
        settle(house, ledger).demand()
        assert len(times(house)) == 10


def test_1005_is_the_account_not_the_task():
    """Three pollers; one answer says `ERROR: 1005`: nobody asks any more, and nothing fails."""
    with House(pollers=3, profile=budget(min_gap="500ms")) as house:
        house.start()
        ledger = register_all(house, 20, solve=0, moods="ban1005")
        until(lambda: provider(house)["blocked_why"] == "ERROR: 1005", SOON_S,
              lambda: provider(house))
        until(lambda: provider(house)["queued"] == 19, SOON_S, lambda: provider(house))
        seen = provider(house)
        assert (seen["open"], seen["polling"]) == (20, 0)
        assert len(times(house)) == 1, "the account was asked although it is blocked"
        shown = house.aldaba("provider", "status", "sandbox")
        assert "blocked" in shown.stdout and "ERROR: 1005" in shown.stdout, shown
        assert "sandbox is not asked for another" in house.aldaba("status").stdout
        assert gauge(house, "blocked_seconds") > 200
        house.tracker.kill9()
        house.tracker.start()
        house.until_serving()
        until(lambda: provider(house)["queued"] == 20, SOON_S, lambda: provider(house))
        for provider_id in ledger.tasks:
            answer = house.public.get("/callback/sandbox", id=provider_id, code="A")
            ledger.noted(provider_id, "A", answer.status)
        sources = settle(house, ledger).demand().sources
        assert sum(sources.values()) == 20 and set(sources) <= {"callback", "late"}, sources
        assert len(times(house)) == 1


@pytest.mark.parametrize("end", ["kill9", "stop"])
def test_a_pause_outlives_the_tracker(end):
    """Paused tasks wait past their deadlines while others expire; resumed, they are polled."""
    short = {"poll": {"schedule": {"first_after": "1s", "give_up_after": "3s"}}}
    with House(pollers=2, profile=short, settings={"tracker": {"last_poll_grace": "3s"}}) as house:
        house.start_sandbox()
        other = merge(sandbox_profile(house.provider.port), short)
        house.settings["providers"] = {"sandbox": short, "other": other}
        house.write_settings()
        house.start_daemons()
        assert house.aldaba("provider", "pause", "sandbox").returncode == 0
        ledger = register_all(house, 10, solve=0)
        getattr(house.tracker, end)()
        house.tracker.start()
        house.until_serving()
        assert provider(house)["paused"]
        (doomed,) = house.submit(1, fate="never")
        task = house.register(doomed, provider="other")
        assert house.ended(task["id"])["state"] == "expired"
        assert provider(house)["open"] == 10
        assert "sandbox is paused by a person" in house.aldaba("status").stdout
        asked = house.provider_ledger()
        assert not any(asked[provider_id]["polls"] for provider_id in ledger.tasks)
        assert gauge(house, "paused") == 1
        ledger.registered(doomed, task["id"])
        assert house.aldaba("provider", "resume", "sandbox").returncode == 0
        verdict = settle(house, ledger).demand()
        assert verdict.sources.get("poll") == 10, verdict


def test_the_breaker():
    """502 and HTML for everything: the breaker opens; the first sane answer closes it."""
    with House(pollers=2, profile=SLOW) as house:
        house.start()
        assert house.provider.request("POST", "/_sandbox/moods?weights=html502=1", b"",
                                      {}).status == 200
        ledger = register_all(house, 30, solve=0)
        until(lambda: provider(house)["breaker"] == "open", SOON_S, lambda: provider(house))
        until(lambda: provider(house)["queued"] == 30, SOON_S, lambda: provider(house))
        assert gauge(house, "breaker") >= 1
        assert house.provider.request("POST", "/_sandbox/moods?weights=", b"", {}).status == 200
        assert settle(house, ledger).demand().sources == {"poll": 30}
        assert provider(house)["breaker"] == "closed"
        said = [line for line in house.tracker.lines() if "ev=breaker." in line]
        assert [line.split("ev=")[1].split()[0] for line in said] == ["breaker.open",
                                                                    "breaker.closed"]


def test_no_such_provider():
    with House(pollers=0) as house:
        house.start()
        for method, path in (("GET", "/v1/providers?name=nobody"),
                             ("POST", "/v1/providers/nobody/pause"),
                             ("POST", "/v1/providers/" + "n" * 60 + "/resume")):
            assert house.private.request(method, path, b"" if method == "POST" else None,
                                         {}).status == 404, path
        assert house.aldaba("provider", "pause", "nobody").returncode == 1
