"""Progress of a run, always on standard error, so that standard output holds the answer alone.

A terminal gets a small picture that is redrawn *between* trials only: there is no refresh thread, because drawing
while a trial runs would take CPU time from what is being measured. A log file gets one line a stage and a look.
A stream that goes away never stops a run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TextIO, cast

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tdelta.document.labels import condition_label
from tdelta.document.quantities import counted, decimals, duration, estimate_text, interval, percent
from tdelta.records import (
    BlockDone,
    Condition,
    Estimate,
    Event,
    InterimAnalysis,
    Phase,
    RoundStarted,
    RunPlanned,
    RunSettings,
    TrialDone,
)

_BAR_COLUMNS = 24
_PROGRESS_COLUMNS = 24
_REDRAW_SECONDS = 0.5
_LABEL_COLUMNS = 19
_FIGURES_COLUMNS = 23
_LINE_ESTIMATES, _SCREEN_ESTIMATES = 4, 12
_NO_TARGET = 1e-9
_LEGEND = "95% interval of the overhead, and how many points wide it is → should be"


_Row = tuple[Condition, Estimate, float]


@contextmanager
def progress(stream: TextIO, *, live: bool, color: bool = False) -> Iterator[Callable[[Event], None]]:
    """An observer that draws on ``stream`` until the block ends.

    Args:
        live: whether the stream is a terminal that can be redrawn.
        color: whether that terminal may show colours.
    """
    if not live:
        yield PlainProgress(stream)
        return
    # Without colour also without bold and dim, which `no_color` alone would leave.
    lenient = cast("TextIO", _Lenient(stream))
    console = Console(file=lenient, force_terminal=True, color_system="auto" if color else None)
    with Live(console=console, auto_refresh=False, transient=True) as screen:
        yield LiveProgress(screen)


class _Lenient:
    """A stream whose writes may fail: a terminal that has been closed takes none of rich's last ones, either."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, if that is still possible."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, if that is still possible."""
        with suppress(OSError, ValueError):
            self._stream.flush()


class PlainProgress:
    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Write to ``stream``; a broken one is ignored. ``clock`` gives seconds."""
        self._stream = stream
        self._clock = clock
        self._began = clock()
        self._planned: RunPlanned | None = None
        self._measuring_since: float | None = None
        self._stage = ("", "")

    def __call__(self, event: Event) -> None:
        now = self._clock()
        if isinstance(event, RunPlanned):
            self._planned = event
        if isinstance(event, RoundStarted) and self._measuring_since is None:
            self._measuring_since = now
        line = self._line(event, now)
        if line:
            so_far = now - self._began
            time_words = f" [{duration(round(so_far))}]" if so_far >= 1 else ""
            with suppress(OSError, ValueError):
                self._stream.write(f"{line}{time_words}\n")
                self._stream.flush()

    def _line(self, event: Event, now: float) -> str | None:
        match event:
            case RunPlanned():
                return planned_text(event)
            case Phase():
                return self._phase_line(event)
            case RoundStarted():
                return f"round {event.round + 1}: {counted(event.blocks, 'block')}"
            case InterimAnalysis():
                took = 0.0 if self._measuring_since is None else now - self._measuring_since
                return look_text(event, self._planned, took)
            case _:
                return None

    def _phase_line(self, phase: Phase) -> str | None:
        """Steps of a stage are not lines of their own."""
        stage = (phase.name, phase.detail)
        if stage == self._stage:
            return None
        self._stage = stage
        return f"{phase.name}: {phase.detail}" if phase.detail else phase.name


@dataclass
class _Picture:
    """The events so far; the live picture is a function of this."""

    planned: RunPlanned | None = None
    phase: Phase | None = None
    round: int | None = None
    blocks_in_round: int = 0
    blocks_done_in_round: int = 0
    trials: int = 0
    elapsed_seconds: float = 0.0
    seconds_left: float | None = None
    measuring_since: float | None = None
    to_go: str = ""
    estimates: tuple[tuple[Condition, Estimate, float], ...] = ()
    axis: tuple[float, float] | None = None


@dataclass
class LiveProgress:
    """The live picture: stage, rounds and blocks, and for each condition an HDI that narrows look by look.

    ``clock`` gives seconds; steps are drawn at most twice a second, so that drawing costs next to nothing.
    """

    screen: Live
    clock: Callable[[], float] = time.monotonic
    _picture: _Picture = field(default_factory=_Picture)
    _drawn_at: float = float("-inf")

    def __call__(self, event: Event) -> None:
        is_news, now = self._is_news(event), self.clock()
        self._take(event, now)
        if is_news or now - self._drawn_at >= _REDRAW_SECONDS:
            self._drawn_at = now
            self.screen.update(Group(*picture_lines(self._picture)), refresh=True)

    def _is_news(self, event: Event) -> bool:
        """Whether the event begins something, as opposed to a step of what is going on."""
        if isinstance(event, Phase):
            shown = self._picture.phase
            return shown is None or (shown.name, shown.detail) != (event.name, event.detail)
        return isinstance(event, InterimAnalysis | RoundStarted | RunPlanned)

    def _take(self, event: Event, now: float) -> None:
        picture = self._picture
        match event:
            case RunPlanned():
                picture.planned = event
            case Phase():
                picture.phase = event
            case RoundStarted():
                picture.phase = None
                picture.measuring_since = now if picture.measuring_since is None else picture.measuring_since
                picture.round, picture.blocks_in_round, picture.blocks_done_in_round = event.round, event.blocks, 0
            case TrialDone():
                picture.trials = event.trials_done
            case BlockDone():
                picture.blocks_done_in_round += 1
                picture.elapsed_seconds = event.elapsed_seconds
                if picture.planned is not None:
                    picture.seconds_left = max(0.0, picture.planned.deadline_seconds - event.elapsed_seconds)
            case InterimAnalysis():
                picture.estimates, picture.seconds_left = event.estimates, event.seconds_left
                picture.to_go = _to_go(event, picture.planned, now - (picture.measuring_since or now))
                picture.axis = picture.axis or _axis(event)


def planned_text(event: RunPlanned) -> str:
    settings = event.settings
    return (
        f"run {settings.run_id}: {settings.engine}, {settings.workload}{_on(settings)},"
        f" {counted(len(settings.conditions), 'configuration')},"
        f" at least {counted(event.rounds_min, 'round')} of {counted(event.blocks_per_round, 'block')},"
        f" at most {duration(event.deadline_seconds)}; seed {settings.seed}"
    )


def _on(settings: RunSettings) -> str:
    if settings.external_servers is not None:
        return f" on {settings.external_servers.baseline.where} and {settings.external_servers.encrypted.where}"
    return "" if settings.database is None else f" on {settings.database.file}"


def look_text(look: InterimAnalysis, planned: RunPlanned | None, took_seconds: float) -> str:
    """The estimates at a round's end, in one line; the rounds so far took ``took_seconds``.

    Of many conditions those that are farthest from their target.
    """
    settings = planned.settings if planned else None
    shown, left_out = _farthest(look.estimates, _LINE_ESTIMATES)
    parts = [
        f"{_label(condition, settings)} {estimate_text(estimate)}, {_width(estimate, target)}"
        for condition, estimate, target in shown
    ]
    parts += [f"{counted(left_out, 'configuration')} nearer to the target"] if left_out else []
    return f"after round {look.round + 1}: {'; '.join([*parts, _to_go(look, planned, took_seconds)])}"


def seconds_to_go(look: InterimAnalysis, planned: RunPlanned | None, took_seconds: float) -> float:
    """The time left to measure, about: a width falls with the root of the rounds, and the time limit may come first."""
    done = look.round + 1
    needed = [(e.hdi95[1] - e.hdi95[0]) ** 2 / target**2 * done for _, e, target in look.estimates if target > 0]
    rounds = max(0.0, max([float(planned.rounds_min if planned else done), *needed]) - done)
    return min(look.seconds_left, rounds * took_seconds / done)


def _to_go(look: InterimAnalysis, planned: RunPlanned | None, took_seconds: float) -> str:
    if look.stop:
        return "no time for another round" if look.is_late else "enough measured"
    about = seconds_to_go(look, planned, took_seconds)
    most = f"at most {duration(look.seconds_left)}"
    return (
        f"{most} to go" if about < 1 or about >= look.seconds_left else f"about {duration(round(about))} to go, {most}"
    )


def hdi_bar(estimate: Estimate, axis: tuple[float, float], tolerance: float, columns: int = _BAR_COLUMNS) -> str:
    """A 95% interval drawn on an axis: ``░`` is the region that does not matter, ``━`` the HDI, ``●`` its median.

    Args:
        axis: the quotients at the left and the right end.
        tolerance: half the width of the region, as a share.
        columns: characters to use.
    """
    cells = [" "] * columns

    def column(value: float) -> int:
        return round((min(max(value, axis[0]), axis[1]) - axis[0]) / (axis[1] - axis[0]) * (columns - 1))

    for (low, high), character in (((1 - tolerance, 1 + tolerance), "░"), (estimate.hdi95, "━")):
        left, right = column(low), column(high)
        cells[left : right + 1] = character * (right - left + 1)
    cells[column(estimate.median)] = "●"
    return "".join(cells)


def picture_lines(picture: _Picture) -> list[Text]:
    settings = picture.planned.settings if picture.planned else None
    lines = (
        [Text(planned_text(picture.planned), style="dim", overflow="ellipsis", no_wrap=True)] if picture.planned else []
    )
    lines.append(Text(_where(picture), overflow="ellipsis", no_wrap=True))
    axis = picture.axis
    if settings and axis:
        tolerance = settings.tolerance if settings.budget is None else settings.budget
        lines.append(Text(_LEGEND, style="dim", overflow="ellipsis", no_wrap=True))
        shown, left_out = _farthest(picture.estimates, _SCREEN_ESTIMATES)
        lines += [_estimate_line(row, axis, tolerance, settings) for row in shown]
        lines += [Text(f"{counted(left_out, 'configuration')} nearer to the target", style="dim")] if left_out else []
    return lines


def _farthest(estimates: Sequence[_Row], most: int) -> tuple[list[_Row], int]:
    """At most so many, in their order: those whose HDI is widest by its target; and how many are left out."""
    order = sorted(range(len(estimates)), key=lambda at: _times_target(estimates[at]), reverse=True)
    return [estimates[at] for at in sorted(order[:most])], max(0, len(estimates) - most)


def _times_target(row: _Row) -> float:
    _, estimate, target = row
    return (estimate.hdi95[1] - estimate.hdi95[0]) / max(target, _NO_TARGET)


def _estimate_line(row: _Row, axis: tuple[float, float], tolerance: float, settings: RunSettings) -> Text:
    condition, estimate, target = row
    label = _label(condition, settings)[:_LABEL_COLUMNS]
    places = decimals((estimate.median, *estimate.hdi95))
    figures = f"{percent(estimate.median, places)} ({interval(estimate.hdi95, places)})"
    widths = f"{_points(estimate.hdi95[1] - estimate.hdi95[0])} → {_points(target)}"
    text = f"{label:<{_LABEL_COLUMNS}} {hdi_bar(estimate, axis, tolerance)} {figures:<{_FIGURES_COLUMNS}} {widths}"
    return Text(text, overflow="ellipsis", no_wrap=True)


def _where(picture: _Picture) -> str:
    if picture.phase is not None:
        return _phase_text(picture.phase)
    if picture.round is None:
        return "starting"
    done, blocks = picture.blocks_done_in_round, picture.blocks_in_round
    left = f", {_left(picture)}" if picture.seconds_left is not None else ""
    return (
        f"round {picture.round + 1} {_bar(done, blocks)} block {done}/{blocks}, {counted(picture.trials, 'trial')},"
        f" {duration(picture.elapsed_seconds)} so far{left}"
    )


def _left(picture: _Picture) -> str:
    """How long it will take, about, as of the last look at the estimates; at most what the time limit leaves."""
    most = f"at most {duration(picture.seconds_left or 0.0)} to go"
    return f"{picture.to_go} after the last round" if picture.to_go.startswith("about") else most


def _phase_text(phase: Phase) -> str:
    steps = f" {_bar(phase.done, phase.total)} {phase.done}/{phase.total}" if phase.total else ""
    return f"{phase.name}{steps}{f' {phase.detail}' if phase.detail else ''}"


def _bar(done: int, total: int) -> str:
    filled = _PROGRESS_COLUMNS * done // max(1, total)
    return "█" * filled + "░" * (_PROGRESS_COLUMNS - filled)


def _axis(look: InterimAnalysis) -> tuple[float, float]:
    """An axis wide enough for the first look; HDIs narrow from there on, so that it can stay."""
    ends = [end for _, estimate, _ in look.estimates for end in estimate.hdi95]
    low, high = min([0.97, *ends]), max([1.05, *ends])
    margin = 0.05 * (high - low)
    return low - margin, high + margin


def _width(estimate: Estimate, target: float) -> str:
    width = estimate.hdi95[1] - estimate.hdi95[0]
    return f"{_points(width)} points wide, target {_points(target)}"


def _points(width: float) -> str:
    return f"{100 * width:.1f}"


def _label(condition: Condition, settings: RunSettings | None) -> str:
    return condition_label(condition, settings) if settings else condition.key
