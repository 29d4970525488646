"""Common rules of all tests: nothing is timed, each begins as in a new process, and are shared out in a good order."""

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tdelta.leaving import ENDING

pytest.register_assert_rewrite("support")

from support.thorough import draws  # noqa: E402

pytest_plugins = ["support.cpu_costs", "support.sharing", "support.tiers"]

# A push tries the same examples again; new ones are drawn where there is time for what they find.
settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=bool(draws(1, 0))
)
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def _as_in_a_new_process() -> Iterator[None]:
    """No test finds a request to stop, a Ctrl-C or a handler that an earlier one left: they are the process's."""
    if native := sys.modules.get("tdelta._native"):
        native.clear_stop()
    handlers = {number: signal.getsignal(number) for number in (*ENDING, signal.SIGALRM)}
    yield
    for number, handler in handlers.items():
        if signal.getsignal(number) is not handler:
            signal.signal(number, handler)
    if signals := sys.modules.get("tdelta.processes.signals"):
        signals._is_answering, signals._raised_seconds = False, None
    if workers := sys.modules.get("tdelta.processes.workers"):
        workers.hurry(hurried=False)
