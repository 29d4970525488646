"""Numbers as people read them: signed percentages, multiples, and absolute values in a unit that fits.

A figure never rounds onto the wrong side of a limit it is compared with: +2.04% beside a limit of 2% keeps the digit
that separates them. Values that do not exist (NaN, infinite) read ``–``.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence

from tdelta.records import Estimate

MISSING = "–"
MINUS = "−"
MULTIPLE_FROM = 2.0
"""From this quotient on, a change is shown as a multiple: few readers understand 562%."""

_WHOLE_FROM = 10.0
_NARROW_POINTS = 0.2
_ROUGH_POINTS, _ROUGH_WIDTH = 10.0, 2.0
_LARGE_POINTS = 100.0
_MAX_DECIMALS = 3
SECONDS = (("s", 1e6), ("ms", 1e3), ("µs", 1.0), ("ns", 1e-3))
_BYTES = (("GiB", 2.0**30), ("MiB", 2.0**20), ("KiB", 2.0**10), ("B", 1.0))
_GLUE = re.compile(
    r"(?<=[\d≥≤±]) (?=(?:µs|ns|ms|s|B|[kMGT]B|[KMGT]iB|points?|times|thread|rounds?|blocks?|trials?)(?!\w))"
    r"|(?<=[%×]) (?=to [+−\d])|(?<=[%×] to) (?=[+−\d])"
)
_NO_BREAK = "\u00a0"


def decimals(ratios: Iterable[float], limits: Iterable[float] = ()) -> int:
    """Decimals of a percentage (0 to 3) that show these quotients on their own side of every limit.

    One is usual. None for intervals of 10 points and more, for overheads from 10% on unless their interval is narrower
    than 2 points, and from 100% on; two if all lie within 0.2 points.

    Args:
        ratios: the quotients to be shown together, e.g. an estimate and the ends of its interval.
        limits: quotients they are compared with, e.g. ``(0.98, 1.02)`` for a tolerance of 2%.
    """
    shown = sorted(ratio for ratio in ratios if math.isfinite(ratio))
    bounds = tuple(limits)
    for count in range(_fewest_decimals(shown), _MAX_DECIMALS):
        if all(_keeps_side(ratio, limit, count) for ratio in shown for limit in bounds):
            return count
    return _MAX_DECIMALS


def _fewest_decimals(shown: Sequence[float]) -> int:
    if not shown:
        return 1
    width, middle = 100 * (shown[-1] - shown[0]), 100 * abs(shown[len(shown) // 2] - 1)
    is_rough = width >= _ROUGH_POINTS or (middle >= _ROUGH_POINTS and width >= _ROUGH_WIDTH)
    if is_rough or 100 * max(abs(ratio - 1) for ratio in shown) >= _LARGE_POINTS:
        return 0
    return 2 if 0 < width < _NARROW_POINTS else 1


def points(ratio: float, places: int = 1) -> str:
    """A quotient as signed percentage points without the sign of per cent: 1.031 is ``+3.1``, 0.998 is ``−0.2``."""
    if not math.isfinite(ratio):
        return MISSING
    share = 100 * (ratio - 1)
    text = f"{abs(share):,.{places}f}"
    if not text.strip("0."):
        return text
    return f"{'+' if share > 0 else MINUS}{text}"


def percent(ratio: float, places: int = 1) -> str:
    """A quotient as a signed overhead: 1.031 is ``+3.1%``."""
    text = points(ratio, places)
    return text if text == MISSING else f"{text}%"


def change(ratio: float, places: int = 1) -> str:
    """A quotient as a signed overhead, and as a multiple from 2 on: ``+3.1%``, ``6.6×``."""
    return multiple(ratio) or percent(ratio, places)


def share(value: float) -> str:
    """An unsigned share, such as a tolerance or a budget, as short as it can be: 0.02 is ``2%``, 0.125 is ``12.5%``."""
    return f"{100 * value:.4g}%" if math.isfinite(value) else MISSING


def small_share(value: float) -> str:
    """An unsigned share of any size with two figures, and never a zero that is not one: 0.00012 is ``0.012%``."""
    if not math.isfinite(value):
        return MISSING
    return "0%" if value == 0 else f"{_figures(100 * value, 2)}%"


def multiple(ratio: float) -> str | None:
    """``6.6×`` for quotients of 2 and more, else None."""
    return f"{figures(ratio)}×" if math.isfinite(ratio) and ratio >= MULTIPLE_FROM else None


def figures(ratio: float) -> str:
    """The figures of a multiple: ``6.6``, ``24``."""
    return f"{ratio:.1f}" if ratio < _WHOLE_FROM else f"{ratio:,.0f}"


def interval(ends: tuple[float, float], places: int = 1, *, is_multiple: bool = False) -> str:
    """The ends of an interval: ``+2.4% to +3.8%``; ``is_multiple`` gives ``6.4× to 6.8×``."""
    if not all(math.isfinite(end) for end in ends):
        return MISSING
    return " to ".join(f"{figures(end)}×" if is_multiple else percent(end, places) for end in ends)


def interval_of(estimate: Estimate, ends: tuple[float, float], bounds: Iterable[float] = ()) -> str:
    """The ends of an interval of this estimate, in its form and with its decimals: ``+2.4% to +3.8%``."""
    places = decimals((estimate.median, *estimate.hdi95), bounds)
    return interval(ends, places, is_multiple=estimate.median >= MULTIPLE_FROM)


def estimate_text(estimate: Estimate, limits: Iterable[float] = ()) -> str:
    """Median and 95% interval in one phrase: ``+3.1% (95% interval +2.4% to +3.8%)``."""
    bounds = tuple(limits)
    places = decimals((estimate.median, *estimate.hdi95), bounds)
    return f"{change(estimate.median, places)} (95% interval {interval_of(estimate, estimate.hdi95, bounds)})"


def amounts(values: Iterable[float], unit: str) -> tuple[str, ...]:
    """Absolute values in one unit that suits the smallest of them, with four figures, so that they can be compared.

    Args:
        values: all in ``unit``.
        unit: ``"µs"`` or ``"bytes"``; any other is kept as it is.
    """
    given = tuple(values)
    steps = {"µs": SECONDS, "bytes": _BYTES}.get(unit, ((unit, 1.0),))
    smallest = min((abs(value) for value in given if value and math.isfinite(value)), default=1.0)
    name, size = next((step for step in steps if smallest >= step[1]), steps[-1])
    return tuple(f"{_figures(value / size, 4)} {name}" if math.isfinite(value) else MISSING for value in given)


def sides_text(left: str, right: str) -> str:
    """Two amounts, and their unit once if it is the same: ``84.2 → 86.8 µs``; empty without the first."""
    unit = right.rpartition(" ")[2]
    return f"{left.removesuffix(f' {unit}')} → {right}" if left else ""


def rate(value: float) -> str:
    """So many a second, with four figures and no unit: ``389.1``, ``12,480``."""
    return _figures(value, 4) if math.isfinite(value) else MISSING


def small_count(value: float | None) -> str:
    """A mean count of one operation, with three figures: ``0.0213``, ``12.1``; what was not counted reads ``–``."""
    return MISSING if value is None or not math.isfinite(value) else _figures(value, 3)


def microseconds(value: float) -> str:
    """A cost of a page, always in the same unit, so that rows compare: ``0.842 µs``, ``28.4 µs``."""
    return f"{_figures(value, 3)} µs" if math.isfinite(value) else MISSING


def small_amount(ns: float) -> str:
    """A time of a part of an operation, with three figures in the unit that suits it: ``412 ns``, ``8.31 µs``."""
    if ns == 0 or not math.isfinite(ns):
        return MISSING if ns else "0"
    name, size = next((step for step in SECONDS if abs(ns) >= 1e3 * step[1]), SECONDS[-1])
    return f"{_figures(ns / (1e3 * size), 3) if abs(ns) >= 1 else f'{ns:.1f}'} {name}"


def signed_amount(ns: float) -> str:
    """The same of a difference, with its sign: ``+8.31 µs``, ``−412 ns``."""
    if not math.isfinite(ns) or ns == 0:
        return small_amount(ns)
    return f"{'+' if ns > 0 else MINUS}{small_amount(abs(ns))}"


def duration(seconds: float) -> str:
    """Wall-clock time for people: ``42 s``, ``1 min 25 s``, ``2 h 05 min``."""
    if not math.isfinite(seconds):
        return MISSING
    if 0 < seconds < 10:
        return f"{_figures(seconds, 2)} s"
    whole = round(max(0.0, seconds))
    minutes, rest = divmod(whole, 60)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes_left = divmod(minutes, 60)
    return f"{minutes} min {rest:02d} s" if hours == 0 else f"{hours} h {minutes_left:02d} min"


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 round``, ``30 blocks``, ``12,400 operations``."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def printable(text: str) -> str:
    """Names are their owner's; no character of one is to move the cursor."""
    return "".join(character if character.isprintable() else "?" for character in text)


def cut(text: str, room: int) -> str:
    """A name that is at most so long, or its beginning."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def glued(text: str) -> str:
    """The text without line breaks between a number and its unit, or inside an interval."""
    return _GLUE.sub(_NO_BREAK, text)


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Fold a paragraph to ``width`` columns, never between a number and its unit or inside an interval.

    Characters that would move the cursor become question marks: texts may quote files of other people.

    Args:
        text: one paragraph; its line breaks are kept.
        indent: what continuation lines begin with.
    """
    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        folded = textwrap.wrap(
            glued(printable(paragraph)),
            max(20, width),
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [line.replace(_NO_BREAK, " ") for line in folded or [""]]
    return lines


def wrap_command(text: str, width: int) -> list[str]:
    """Fold a command and its comment so that a shell still reads one command; arguments stay whole.

    Args:
        text: ``command  # comment``; the comment is optional.
        width: columns; an argument that is longer stays on one line.
    """
    command, _, comment = printable(text).partition("  # ")
    if len(text) <= width:
        return [printable(text)]
    lines = [""]
    for argument in re.findall(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""", command):
        if lines[-1] and len(f"{lines[-1]} {argument} \\") > width:
            lines[-1] += " \\"
            lines.append("")
        lines[-1] += f" {argument}" if lines[-1] else argument
    if comment and len(f"{lines[-1]}  # {comment}") <= width:
        lines[-1] += f"  # {comment}"
    elif comment:
        lines += [f"# {line}" for line in wrap(comment, width - 2)]
    return lines


def _keeps_side(ratio: float, limit: float, places: int) -> bool:
    exact = (ratio > limit) - (ratio < limit)
    value, bound = round(100 * (ratio - 1), places), round(100 * (limit - 1), places)
    return exact == (value > bound) - (value < bound)


def _figures(value: float, count: int) -> str:
    """``count`` significant figures without an exponent; whole numbers keep all of theirs."""
    if value == 0:
        return "0"
    places = max(0, count - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}".replace("-", MINUS)


def ratio_cells(ratio: Estimate, bounds: Sequence[float]) -> tuple[str, str]:
    """Change and 95% interval as cells of a table: ``+3.1%``, ``+2.4% to +3.8%``."""
    places = decimals((ratio.median, *ratio.hdi95), bounds)
    return change(ratio.median, places), interval_of(ratio, ratio.hdi95, bounds)
