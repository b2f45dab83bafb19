"""For pytest: the logs of every process of a test that failed. A conftest.py imports its hook."""
import pytest

from support import house


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed and house.living:
        for lodger in house.living:
            report.sections.append((f"processes of {lodger.folder}", lodger.tails()))
