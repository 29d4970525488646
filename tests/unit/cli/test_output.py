import io
import os

import pytest

from tdelta.cli import output
from tdelta.cli.main import guarded


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_pipe_gets_a_hundred_columns_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert (output.width(), output.color()) == (100, False)


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("40", 40), ("300", 200)])
def test_the_width_asked_for_is_taken_up_to_a_limit(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert output.width() == width


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    assert output.color()


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_wants_no_colours_gets_none(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv(name, value)
    assert not output.color()


def test_progress_is_live_on_a_terminal_that_can_be_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    assert output.is_live()
    monkeypatch.setenv("TERM", "dumb")
    assert not output.is_live()


def test_an_answer_to_a_terminal_that_has_been_closed_is_an_interruption(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(theirs, "w", buffering=1) as terminal:
        os.close(ours)
        monkeypatch.setattr("sys.stdout", terminal)
        code = guarded(lambda: output.write("the answer"))
        output.silence(terminal)
    assert (code, capsys.readouterr().err) == (130, "error: interrupted\n")


class Latin(io.StringIO):
    encoding = "latin-1"


def test_signs_are_ascii_where_the_output_is_not_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Latin()
    monkeypatch.setattr("sys.stdout", stream)
    output.write("−0.3 … +1.1 %, 3 × 4 µs")
    assert stream.getvalue() == "-0.3 ... +1.1 %, 3 x 4 us"
