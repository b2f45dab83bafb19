"""Real clients, unmodified, that take aldaba for their provider while the provider misbehaves: npm's
@2captcha/captcha-solver, 2captcha-ts and 2captcha through the facade, and replicate with its profile.
"""
import pytest
from support import clients
from support.house import KEY, House
from support.until import until
from test_facade import CLIENT_KEY, MOODS, bought, heard, new_house, new_ref

SOLVERS = ("@2captcha/captcha-solver", "2captcha-ts", "2captcha")
WHSEC = "whsec_c2FuZGJveC1zYW5kYm94LXNhbmQ="
END_S = 30


@pytest.fixture(scope="module")
def folder():
    return clients.install()


@pytest.fixture(scope="module")
def house(folder):
    with new_house() as one:
        yield one


def solve(house, folder, name, way, **params):
    """(what its user gets, ref)"""
    ref = new_ref()
    params = {"ref": ref, **params}
    process = clients.start(folder, house.private.port, "solve.cjs", name, CLIENT_KEY, way, params)
    return clients.end(process), ref


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("way", ["recaptcha", "image"])
def test_solves(house, folder, name, way):
    got, ref = solve(house, folder, name, way, solve=0.3)
    (entry,) = bought(house, ref)
    assert got["data"] == entry["answer"], got
    (params,) = heard(house, ref)
    assert params["key"] == KEY
    if way == "image":
        assert params["body"] == "iVBORw0KGgo+/AA="
    else:
        assert params["pageurl"] == "https://site.example/?a=1&b=c d"
        assert params["googlekey"] == "6LsiteKey+/="


@pytest.mark.parametrize("name", SOLVERS)
def test_solves_under_trouble(house, folder, name):
    """Submissions are refused at first, no callback comes, and polls meet all there is."""
    got, ref = solve(house, folder, name, "recaptcha", solve=0, fate="drop", moods=MOODS,
                     orders="noslot,noslot")
    (entry,) = bought(house, ref)
    assert got["data"] == entry["answer"], got
    assert entry["polls"] > len(MOODS.split(","))
    assert len(heard(house, ref)) == 3


@pytest.mark.parametrize("name", SOLVERS)
def test_hears_of_a_true_end(house, folder, name):
    got, _ = solve(house, folder, name, "recaptcha", solve=0, fate="error")
    assert got["code"] == 1, got  # the packages' number for ERROR_CAPTCHA_UNSOLVABLE


@pytest.mark.parametrize("name", SOLVERS)
def test_asks_for_its_balance(house, folder, name):
    got, _ = solve(house, folder, name, "balance")
    assert got["data"] == 4.73, got


@pytest.mark.parametrize("name", SOLVERS)
def test_reports(house, folder, name):
    got, ref = solve(house, folder, name, "report", solve=0)
    (entry,) = bought(house, ref)
    assert (got["data"], entry["reports"]) == (entry["answer"], ["reportgood"])


@pytest.mark.parametrize("name", SOLVERS)
def test_the_trouble_is_real(house, folder, name):
    """The same client straight at the same provider does not come through."""
    ref = new_ref()
    process = clients.start(folder, house.provider.port, "solve.cjs", name, KEY, "recaptcha",
                            {"ref": ref, "solve": 0, "fate": "drop", "moods": MOODS})
    assert "error" in clients.end(process)


@pytest.mark.parametrize("name", SOLVERS)
def test_outlives_a_tracker(house, folder, name):
    """The tracker is killed and comes back while the client polls."""
    ref = new_ref()
    process = clients.start(folder, house.private.port, "solve.cjs", name, CLIENT_KEY, "recaptcha",
                            {"ref": ref, "solve": 1})
    until(lambda: bought(house, ref), END_S, "it was not submitted")
    house.tracker.kill9()
    house.tracker.start()
    assert clients.end(process)["data"] == bought(house, ref)[0]["answer"]


def replicate_profile(port):
    url = f"http://127.0.0.1:{port}/v1/predictions"
    return {"extends": "replicate",
            "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}, "whsec": {"env": "ALDABA_WHSEC"}},
            "submit": {"request": {"url": url}},
            "poll": {"request": {"url": url + "/${id}"},
                     "schedule": {"every": "200ms", "max_every": "400ms", "give_up_after": "30s"}},
            "callback": {"stale_after": "1s"},
            "codes": {"_default": {"wait": "200ms"}, "HTTP_429": {"wait": "200ms"}}}


@pytest.fixture(scope="module")
def predictions(folder):
    with House(describe=replicate_profile) as one:
        for daemon in one.daemons.values():
            daemon.env["ALDABA_WHSEC"] = WHSEC
        yield one.start()


@pytest.mark.parametrize("trouble,state,source", [
    ({"solve": 0.2}, "done", "callback"), ({"fate": "drop", "solve": 0}, "done", "poll"),
    ({"fate": "drop", "solve": 0, "moods": "html502,ban1005,empty,html200"}, "done", "poll"),
    ({"fate": "double", "solve": 0}, "done", "callback"),
    ({"fate": "error", "solve": 0}, "failed", "callback")])
def test_replicate(predictions, folder, trouble, state, source):
    """The client makes a prediction with a task's own callback URL; aldaba does the rest."""
    house, ref = predictions, new_ref()
    task = house.reserve()
    process = clients.start(folder, house.provider.port, "predict.cjs", KEY, task["callback_url"],
                            {"ref": ref, **trouble})
    made = clients.end(process)
    house.attach(task["id"], made["id"])
    ended = house.ended(task["id"])
    (entry,) = bought(house, ref)
    assert (ended["state"], ended["source"], ended["provider_id"]) == (state, source, made["id"])
    assert ended["result"] == (entry["answer"] if state == "done" else None)
    assert len(house.events_of(task["id"])) == 1


def test_submits_a_prediction_by_itself(predictions):
    house, ref = predictions, new_ref()
    task = house.post("/v1/tasks", {"provider": "sandbox",
                                    "params": {"version": "v", "input": {"ref": ref, "solve": 0}}})
    assert house.ended(task["id"])["result"] == bought(house, ref)[0]["answer"]
