"""Half a unit of the last digit, and every importer that prints figures says it of them."""

import pytest

from tdelta.importers.hammerdb import IMPORTERS as HAMMERDB
from tdelta.importers.importer import Importer
from tdelta.importers.problems import half_unit
from tdelta.importers.swingbench import IMPORTERS as SWINGBENCH
from tdelta.importers.sysbench import Sysbench
from tdelta.records.observed import Figure, Series, Summary

from .files import FIXTURES, all_of
from .given import read


@pytest.mark.parametrize(
    ("printed", "half"),
    [
        ("0.065", 0.0005), ("15", 0.5), (" 1.50 ", 0.005), ("-2.5", 0.05), ("1.5e3", 50.0), ("1E-3", 0.0005),
        (".5", 0.05), ("", 0.0), ("nan", 0.0), ("15276.940308", 5e-7),
    ],
)  # fmt: skip
def test_half_a_unit_of_the_last_digit(printed: str, half: float) -> None:
    assert half_unit(printed) == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize(
    ("importers", "name"),
    [
        ((Sysbench(),), "sysbench/sysbench-1.0.20-time.txt"),
        ((Sysbench(),), "sysbench/sysbench-0.5.txt"),
        (HAMMERDB, "hammerdb/console.log"),
        (HAMMERDB, "hammerdb/timing.json"),
        (SWINGBENCH, "swingbench/results.xml"),
    ],
)
def test_figures_of_every_tool_say_how_they_are_rounded(importers: tuple[Importer, ...], name: str) -> None:
    found = read(importers, FIXTURES / name)
    printed = [*all_of(found, Figure), *all_of(found, Summary)]
    assert printed
    assert all(0 < one.rounding < 0.5 for one in printed)


def test_sysbench_says_how_long_a_run_took_and_how_its_intervals_are_rounded() -> None:
    found = read((Sysbench(),), FIXTURES / "sysbench/sysbench-1.0.20-time.txt")
    assert {it.duration_seconds for it in found} == {2.0034}
    assert {it.rounding for it in all_of(found, Series)} == {0.005}
    (summary,) = all_of(found, Summary)
    assert summary.rounding == pytest.approx(0.005 / summary.count)
