"""The cost of the tests of each file: wall-clock and CPU seconds, children's included. ``--costs N`` prints N.

Processes beside each other make the clock say little: where a suite's minutes go, its CPU seconds show. Of children
only those count that were waited for.
"""

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

_AT_START = pytest.StashKey[float]()
_CPU_SECONDS = "cpu_seconds"


def _cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", type=int, default=0, metavar="N", help="show the N files with most CPU seconds")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    item.stash[_AT_START] = _cpu_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    report = yield
    now = _cpu_seconds()
    report.user_properties.append((_CPU_SECONDS, now - item.stash[_AT_START]))
    item.stash[_AT_START] = now
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    most = config.getoption("--costs")
    if not most:
        return
    clock: dict[str, float] = defaultdict(float)
    cpu: dict[str, float] = defaultdict(float)
    reports = [one for found in terminalreporter.stats.values() for one in found if isinstance(one, pytest.TestReport)]
    for report in reports:
        file = report.nodeid.split("::")[0]
        clock[file] += report.duration
        cpu[file] += sum(value for name, value in report.user_properties if name == _CPU_SECONDS)
    terminalreporter.section(f"costs: {sum(cpu.values()):.0f} s of CPU, {sum(clock.values()):.0f} s by the clock")
    for file in sorted(cpu, key=lambda one: -cpu[one])[:most]:
        terminalreporter.write_line(f"{cpu[file]:8.1f} s of CPU {clock[file]:8.1f} s by the clock  {file}")
