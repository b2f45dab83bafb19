"""For pytest, by way of a conftest.py: the logs of every process of a test that failed, and tests of
programs that are not there are skipped."""
import pytest

from support import house

PROGRAMS = ("aldaba-gateway", "aldaba-tracker", "aldaba-poller", "aldaba-dlq", "aldaba")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and house.living:
        for lodger in house.living:
            report.sections.append((f"processes of {lodger.folder}", lodger.tails()))


def no_programs():
    """Why nothing can be run, or None."""
    absent = [name for name in PROGRAMS if house.binary(name) is None]
    return f"not in $ALDABA_BIN: {', '.join(absent)}" if absent else None


def skips(folder, reason=no_programs):
    """The hook for a folder of tests that run the programs in $ALDABA_BIN."""
    def pytest_collection_modifyitems(items):
        why = reason()
        for item in (one for one in items if why and folder in one.path.parents):
            item.add_marker(pytest.mark.skip(reason=why))
    return pytest_collection_modifyitems
