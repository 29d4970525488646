import pytest

from support.refused import refused
from tdelta.errors import ImportFault
from tdelta.importers.faults import LARGEST, MOST_SHOWN, Problems, half_unit, number, plain_name, shown, whole
from tdelta.importers.hammerdb import IMPORTERS as HAMMERDB
from tdelta.importers.importer import Importer
from tdelta.importers.swingbench import IMPORTERS as SWINGBENCH
from tdelta.importers.sysbench import Sysbench
from tdelta.messages import Refusal
from tdelta.records.observed import Figure, Series, Summary

from .files import FIXTURES, all_of
from .given import read


@pytest.mark.parametrize(
    ("found", "value"), [("1.5", 1.5), (" 7 ", 7), (".5", 0.5), ("-2e3", -2000), (3, 3), (2.5, 2.5), ("+1", 1)]
)
def test_plain_numbers_are_read(found, value):
    assert number(found) == value


@pytest.mark.parametrize(
    "found",
    ["", "nan", "inf", "1e999", "1_000", "1,5", "٣", "0x10", "1" * 5000, "1 2", None, True, [], float("nan"), 10**400,
     LARGEST * 10, "1e16"],
)  # fmt: skip
def test_anything_else_is_none(found):
    assert number(found) is None


@pytest.mark.parametrize(("found", "value"), [("12", 12), ("12.0", 12), (0, 0), ("1.5", None), ("-1", None)])
def test_counts_are_whole(found, value):
    assert whole(found) == value


def test_what_strangers_wrote_is_escaped_and_cut():
    assert shown("\x1b[31m") == r"'\x1b[31m'"
    assert len(shown("x" * 10**6)) <= 60
    assert len(shown({"a": ["b" * 10**6] * 100})) <= 60


def test_faults_are_lines_until_there_are_so_many_that_the_file_is_damaged():
    problems = Problems("f")
    problems.raise_if_any()
    problems.add(Refusal.of("missing", what="a job"), 3)
    with refused(ImportFault, "missing", where="f:3"):
        problems.raise_if_any()
    for line in range(MOST_SHOWN - 2):
        problems.add(Refusal.of("missing", what="a job"), line)
    with pytest.raises(ImportFault) as raised:
        problems.add(Refusal.of("missing", what="a job"), 99)
    assert len(str(raised.value).splitlines()) == MOST_SHOWN + 1
    assert str(raised.value).endswith("and perhaps more")


@pytest.mark.parametrize(("found", "name"), [(" New Order ", "New Order"), ("Größe", "Größe")])
def test_names_are_taken_as_they_are(found: str, name: str):
    assert plain_name(found) == name


@pytest.mark.parametrize("found", ["", "  ", "\x1b[31mred", "a\nb", "x" * 201, None, 5])
def test_names_that_would_move_the_cursor_or_fill_the_screen_are_none(found):
    assert plain_name(found) is None


# Half a unit of the last digit, and every importer that prints figures says it of them.


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
