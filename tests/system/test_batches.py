"""Several tasks in one poll: each gets its own answer or none, and the account's budget sees one
request. The sandbox counts by itself what reaches it."""
import pytest
from support.house import KEY, House
from support.ledger import Ledger, settle
from support.settings import merge
from support.until import passes, until

SOON_S = 20
MANY = {"poll": {"batch": {"max": 50}, "schedule": {"give_up_after": "120s"}}}


def sparing(**keys):
    """One request a second."""
    return {**MANY, "budgets": [{"name": "res.php", "requests": 1, "per": "1s", **keys}]}


def bundled(port):
    """2captcha's own description, but for where it lives and how soon it asks."""
    return {"extends": "twocaptcha-v1", "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
            "submit": None, "budgets": None,
            "poll": {"request": {"url": f"http://127.0.0.1:{port}/res.php"},
                     "schedule": {"every": "200ms", "max_every": "1s", "max_requests": 50,
                                  "give_up_after": "120s"}},
            "callback": {"stale_after": "1s"}}


def register_all(house, count, provider="sandbox", **params):
    """Tasks whose answers differ, and hold no joint."""
    ledger = Ledger()
    for number in range(count):
        (provider_id,) = house.submit(1, fate="drop", solve=0, answer=f"plain {number}", **params)
        ledger.registered(provider_id, house.register(provider_id, provider=provider)["id"])
    return ledger


def requests(house):
    return house.provider_stats()["requests"].get("/res.php", 0)


def until_polls(house, count):
    until(lambda: requests(house) >= count, SOON_S, lambda: f"{requests(house)} polls of {count}")


def test_example():
    """Forty tasks, one request a second: they would take forty seconds one by one."""
    with House(pollers=2, profile=sparing()) as house:
        house.start()
        ledger = register_all(house, 40)
        assert settle(house, ledger).demand().sources == {"poll": 40}
        assert requests(house) <= 10, "a poll for several tasks was not used"
        moments = sorted(house.provider.get("/_sandbox/times", path="/res.php").json())
        assert all(later - sooner > 0.9 for sooner, later in zip(moments, moments[1:]))


def test_with_the_bundled_description():
    with House() as house:
        house.start_sandbox()
        house.settings = {"providers": {"bundled": bundled(house.provider.port)}}
        house.write_settings()
        house.start_daemons()
        house.aldaba("provider", "pause", "bundled")
        ledger = register_all(house, 30, provider="bundled")
        until(lambda: house.get("/v1/providers", name="bundled")["providers"][0]["queued"] == 30,
              SOON_S, "they are not due")
        house.aldaba("provider", "resume", "bundled")
        settle(house, ledger).demand()
        assert requests(house) == 1


def test_an_answer_with_a_joint_gives_nobody_anothers():
    """Rule 3: `40|200` among the answers would shift all behind it: each is asked for alone."""
    with House(profile=sparing(requests=4)) as house:
        house.start()
        ledger = Ledger()
        answers = {}
        for number in range(12):
            answer = f"{number}|20{number}|x" if number % 5 == 2 else f"plain-{number}"
            (provider_id,) = house.submit(1, fate="drop", solve=0, answer=answer)
            task = house.register(provider_id)["id"]
            ledger.registered(provider_id, task)
            answers[task] = answer
        settle(house, ledger).demand()
        assert {event["task"]: event["result"].decode() for event in house.events()} == answers


@pytest.mark.parametrize("mood", ["html200", "html502", "empty", "half", "error"])
def test_what_cant_be_cut_ends_nobody(mood):
    """The first answers are of no use to anybody; then the truth comes, to each."""
    with House(profile=sparing(requests=3)) as house:
        house.start()
        ledger = register_all(house, 8, moods=f"{mood},{mood}")
        assert settle(house, ledger).demand().sources == {"poll": 8}
        assert {event["state"] for event in house.events()} == {"done"}


def test_a_ban_is_one_request_and_of_all():
    """`ERROR: 1005` as the answer for many: the account waits, and no task is told anything."""
    with House(pollers=2, profile=MANY) as house:
        house.start()
        ledger = register_all(house, 10, moods="ban1005")
        until(lambda: house.get("/v1/providers", name="sandbox")["providers"][0]["blocked_why"]
              == "ERROR: 1005", SOON_S, "the account is not blocked")
        before = requests(house)
        passes(2)
        assert requests(house) == before
        assert not house.events()
        for provider_id in ledger.tasks:
            answer = house.public.get("/callback/sandbox", id=provider_id, code="A")
            ledger.noted(provider_id, "A", answer.status)
        settle(house, ledger).demand()


def test_a_poller_that_dies_with_a_batch():
    """Its tasks are asked for again, by another, and each ends once."""
    profile = merge(sparing(), {"poll": {"timeout": "3s"}})  # the sandbox holds its answers back
    with House(pollers=2, profile=profile, settings={"tracker": {"lease": "3s"}}) as house:
        house.start()
        house.poller2.pause()
        ledger = register_all(house, 10, moods="hang")
        until_polls(house, 1)
        house.poller1.kill9()
        house.poller2.resume()
        assert settle(house, ledger).demand().sources == {"poll": 10}


def test_codes_stay_with_their_tasks():
    """Some failed, some are lost, some are done, in one answer."""
    with House(profile=sparing(requests=2)) as house:
        house.start()
        wants = {}
        ledger = Ledger()
        house.aldaba("provider", "pause", "sandbox")
        for fate in ("error", "drop", "error", "drop", "drop"):
            (provider_id,) = house.submit(1, fate=fate, solve=0, answer="plain",
                                          pingback="http://127.0.0.1:9/")
            task = house.register(provider_id)["id"]
            ledger.registered(provider_id, task)
            wants[task] = "failed" if fate == "error" else "done"
        house.aldaba("provider", "resume", "sandbox")
        settle(house, ledger).demand()
        assert {event["task"]: event["state"] for event in house.events()} == wants
        assert KEY not in str(house.events())
