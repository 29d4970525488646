import pytest

from tdelta.errors import ImportFault
from tdelta.importers.problems import LARGEST, MOST_SHOWN, Problems, number, plain_name, shown, whole
from tdelta.messages import Refusal


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


def test_one_fault_is_one_line_and_many_are_counted():
    problems = Problems("f", "format", Refusal.of("as-the-tool-wrote-it"))
    problems.raise_if_any()
    problems.add(Refusal.of("missing", what="a job"), 3)
    assert str(problems.fault()) == f"f:3: {Refusal.of('missing', what='a job')}. {Refusal.of('as-the-tool-wrote-it')}"
    for line in range(100):
        problems.add(Refusal.of("missing", what="a job"), line)
    with pytest.raises(ImportFault) as raised:
        problems.raise_if_any()
    lines = str(raised.value).splitlines()
    assert lines[0] == "f (format): 101 faults"
    assert len(lines) == MOST_SHOWN + 3
    assert "81 more" in lines[-2]


@pytest.mark.parametrize(("found", "name"), [(" New Order ", "New Order"), ("Größe", "Größe")])
def test_names_are_taken_as_they_are(found: str, name: str):
    assert plain_name(found) == name


@pytest.mark.parametrize("found", ["", "  ", "\x1b[31mred", "a\nb", "x" * 201, None, 5])
def test_names_that_would_move_the_cursor_or_fill_the_screen_are_none(found):
    assert plain_name(found) is None
