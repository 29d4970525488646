import errno
import io
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest
from rich.console import Console
from rich.live import Live

from support import samples as s
from tdelta.records import (
    BlockDone,
    Event,
    InterimAnalysis,
    Measurement,
    Phase,
    RoundStarted,
    RunPlanned,
    Trial,
    TrialDone,
)
from tdelta.report.progress import LiveProgress, PlainProgress, hdi_bar, look_text, progress, seconds_to_go

PLANNED = RunPlanned(
    s.settings(), blocks_per_round=6, rounds_min=3, trial_seconds=0.25, deadline_seconds=85, directory="/d"
)
WIDE = InterimAnalysis(0, ((s.AES, s.estimate(1.03, 0.03), 0.02),), seconds_left=60.0, stop=False)
NARROW = InterimAnalysis(1, ((s.AES, s.estimate(1.03, 0.01), 0.02),), seconds_left=50.0, stop=True)
TRIAL = TrialDone(Trial(0, 0, 0, s.AES, "t1", 0.0, Measurement(1, 1, {}, {})), trials_done=1)
EVENTS: tuple[Event, ...] = (
    PLANNED,
    Phase("load", "aes-256", 0, 4),
    Phase("load", "aes-256", 3, 4),
    RoundStarted(0, 6),
    TRIAL,
    BlockDone(0, 0, 12.0),
    WIDE,
    NARROW,
)


Watched = tuple[LiveProgress, io.StringIO, list[float]]


class Gone(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture
def live() -> Iterator[Watched]:
    stream, now = io.StringIO(), [0.0]
    with Live(console=Console(file=stream, force_terminal=True, width=120), auto_refresh=False) as screen:
        yield LiveProgress(screen, clock=lambda: now[0]), stream, now


def test_a_log_gets_one_line_a_stage_a_round_and_a_look() -> None:
    stream = io.StringIO()
    observe = PlainProgress(stream)
    for event in EVENTS:
        observe(event)
    assert stream.getvalue().splitlines() == [
        f"run {s.RUN_ID}: sqlite, order-entry, 3 configurations,"
        " at least 3 rounds of 6 blocks, at most 1 min 25 s; seed 7301",
        "load: aes-256",
        "round 1: 6 blocks",
        "after round 1: AES-256 +3.0% (95% interval 0.0% to +6.0%), 6.0 points wide, target 2.0;"
        " at most 1 min 00 s to go",
        "after round 2: AES-256 +3.0% (95% interval +2.0% to +4.0%), 2.0 points wide, target 2.0; enough measured",
    ]


def test_a_run_out_of_time_is_not_said_to_have_measured_enough(live: Watched) -> None:
    look = InterimAnalysis(0, ((s.AES, s.estimate(1.1, 0.1), 0.02),), seconds_left=1.0, stop=True, is_late=True)
    assert look_text(look, PLANNED, took_seconds=12.0).endswith("; no time for another round")


def test_of_many_conditions_the_farthest_from_their_targets_are_shown(live: Watched) -> None:
    widths = (0.02, 0.10, 0.04, 0.12, 0.06, 0.14, 0.08)
    rows = tuple((s.AES, s.estimate(1 + width, width), 0.02) for width in widths * 2)
    look = InterimAnalysis(0, rows, seconds_left=60.0, stop=False)
    line = look_text(look, PLANNED, took_seconds=12.0)
    shown = [width for width in ("2.0", "10", "4.0", "12", "6", "14", "8") if f"+{width}%" in line]
    assert shown == ["12", "14"]
    assert line.count("AES-256") == 4
    screen, stream, _ = live
    for event in (PLANNED, look):
        screen(event)
    assert stream.getvalue().count("AES-256 ") == 12


def test_a_reader_that_went_away_does_not_stop_the_run() -> None:
    observe = PlainProgress(Gone())
    for event in EVENTS:
        observe(event)


def test_a_terminal_that_is_closed_takes_no_interruptions_place() -> None:
    class Closed(io.StringIO):
        is_open = True

        def write(self, text: str) -> int:
            if not self.is_open:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return super().write(text)

    terminal = Closed()

    def watched() -> None:
        with progress(terminal, live=True) as observe:
            observe(PLANNED)
            terminal.is_open = False
            observe(WIDE)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        watched()
    assert s.RUN_ID in terminal.getvalue()


def test_a_stream_that_is_no_terminal_gets_the_plain_lines() -> None:
    stream = io.StringIO()
    with progress(stream, live=False) as observe:
        observe(RoundStarted(0, 6))
    assert stream.getvalue() == "round 1: 6 blocks\n"


def test_the_live_picture_shows_round_blocks_and_the_interval_of_each_condition(live: Watched) -> None:
    observe, stream, now = live
    for event in EVENTS[:-1]:
        now[0] += 1.0
        observe(event)
    picture = stream.getvalue()
    assert "load ██████████████████░░░░░░ 3/4 aes-256" in picture
    assert "round 1 ████░░░░░░░░░░░░░░░░░░░░ block 1/6, 1 trial, 12 s so far, at most 1 min 13 s to go" in picture
    assert "●" in picture


def test_drawing_is_held_back_between_looks(live: Watched) -> None:
    observe, stream, now = live
    observe(PLANNED)
    drawn = stream.getvalue()
    now[0] = 0.1
    observe(TRIAL)
    assert stream.getvalue() == drawn
    now[0] = 0.7
    observe(TRIAL)
    assert stream.getvalue() != drawn


def test_a_new_stage_is_drawn_at_once_and_its_steps_are_not(live: Watched) -> None:
    observe, stream, _ = live
    observe(PLANNED)
    observe(Phase("calibrate", "plain"))
    drawn = stream.getvalue()
    assert "calibrate plain" in drawn
    observe(Phase("calibrate", "plain", 1, 2))
    assert stream.getvalue() == drawn


def test_the_bar_of_a_narrower_interval_is_shorter_on_the_same_axis() -> None:
    axis = (0.96, 1.08)
    wide, narrow = (hdi_bar(look.estimates[0][1], axis, tolerance=0.02) for look in (WIDE, NARROW))
    assert wide.count("━") > narrow.count("━")
    assert wide.index("●") == narrow.index("●")
    assert len(wide) == len(narrow) == 24


@pytest.mark.parametrize("median", [0.2, 5.0])
def test_an_interval_beyond_the_axis_is_drawn_at_its_end(median: float) -> None:
    bar = hdi_bar(s.estimate(median, 0.05), (0.96, 1.08), tolerance=0.02)
    assert bar.index("●") == (0 if median < 1 else 23)


def test_a_log_has_the_time_of_each_line_and_what_is_still_to_go() -> None:
    stream, now = io.StringIO(), [0.0]
    observe = PlainProgress(stream, clock=lambda: now[0])
    for seconds, event in ((0.0, PLANNED), (5.0, RoundStarted(0, 6)), (17.0, WIDE)):
        now[0] = seconds
        observe(event)
    lines = stream.getvalue().splitlines()
    assert [line.split(" [")[-1] for line in lines[1:]] == ["5.0 s]", "17 s]"]
    assert "at most 1 min 00 s to go" in lines[2]


@pytest.mark.parametrize(("half", "rounds", "seconds"), [(0.03, 3, 60.0), (0.02, 3, 36.0), (0.005, 3, 24.0)])
def test_what_is_to_go_follows_the_width_aimed_at_the_fewest_rounds_and_the_limit(
    half: float, rounds: int, seconds: float
) -> None:
    look = InterimAnalysis(0, ((s.AES, s.estimate(1.03, half), 0.02),), seconds_left=60.0, stop=False)
    assert seconds_to_go(look, replace(PLANNED, rounds_min=rounds), took_seconds=12.0) == pytest.approx(seconds)
