"""A plan in a terminal or a pipe: the answer, minutes for each overhead and ROPE, curves, and what they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.table import Table
from rich.text import Text

from tdelta.records import Decision
from tdelta.records.prospects import Attainability, Prospect, Target, Width
from tdelta.report.command import plan_command, run_command
from tdelta.report.drawing import NARROWEST, draw, paragraph, plain_table
from tdelta.report.plan.curves import curves, effect_words
from tdelta.report.plan.grounds import grounds
from tdelta.report.quantities import counted, duration, share

_INDENT = "  "
_MOST_WIDTHS = 7


def plan_text(found: Prospect, width: int, *, color: bool = False) -> str:
    """A plan for people.

    Args:
        found: the plan.
        width: columns; at least 40 are used.
        color: whether to add ANSI colours.
    """
    width = max(NARROWEST, width)
    sections: list[list[Text | Table]] = [
        [
            text
            for target in found.primary_targets
            for text in paragraph(headline(target, found), width, "bold", indent=_INDENT)
        ],
        _advised(found, width),
        _minutes(found),
        _curves(found, width),
        _widths(found),
        *grounds(found, width),
        [text for caution in found.cautions for text in paragraph(f"- {caution}", width, "yellow", indent=_INDENT)],
        [text for line in _notes(found) for text in paragraph(line, width, "dim")],
    ]
    return draw([part for section in sections if section for part in (*section, Text())][:-1], width, color=color)


def headline(target: Target, found: Prospect) -> str:
    task = _task(target)
    if target.attainability is Attainability.EDGE:
        return f"{task}: it cannot be. {target.reason[0].upper()}{target.reason[1:]}."
    if target.rounds is None or target.seconds is None:
        last = target.curve[-1]
        return f"{task}: not within {duration(last.seconds)}: {target.reason}."
    first = "at least " if target.rounds == target.curve[0].rounds else ""
    return (
        f"{task}: {first}{counted(target.rounds, 'round')} of {counted(found.layout.blocks_per_round, 'block')},"
        f" {duration(target.seconds)}, for a chance of {share(found.assurance)}."
    )


def _task(target: Target) -> str:
    rope = f"±{share(target.rope)}"
    if target.effect == 0:
        return f"To call it negligible ({rope}) where encryption costs nothing"
    if target.decision is Decision.NEGLIGIBLE:
        return f"To call an overhead of {share(target.effect)} negligible ({rope})"
    return f"To tell an overhead of {share(target.effect)} from {rope}"


def _advised(found: Prospect, width: int) -> list[Text | Table]:
    """The command to go on with, where one reaches anything."""
    if not found.options:
        return []
    return [*paragraph(f"{_INDENT}{run_command(found.options)}", width, "cyan", indent=_INDENT * 2)]


def _minutes(found: Prospect) -> list[Text | Table]:
    ropes = list(dict.fromkeys(target.rope for target in found.targets))
    effects = list(dict.fromkeys(target.effect for target in found.targets))
    targets = {(target.effect, target.rope): target for target in found.targets}
    table = plain_table((("true overhead", False), *((f"ROPE ±{share(rope)}", True) for rope in ropes)))
    for effect in effects:
        table.add_row(effect_words(effect), *(_cell(targets[effect, rope]) for rope in ropes))
    return [Text(f"Rounds, and wall clock, until {share(found.assurance)} of runs decide rightly", style="bold"), table]


def _cell(target: Target) -> str:
    if target.attainability is Attainability.EDGE:
        return "never (edge)"
    if target.rounds is None or target.seconds is None:
        return f"> {duration(target.curve[-1].seconds)}"
    return f"{target.rounds} in {duration(target.seconds)}"


def _curves(found: Prospect, width: int) -> list[Text | Table]:
    rope = found.primary_targets[0].rope
    lines = curves([target for target in found.targets if target.rope == rope], found.assurance, width)
    title = f"Chance that a run decides rightly, ROPE ±{share(rope)}, by true overhead"
    return [Text(title, style="bold"), *(Text(line) for line in lines)] if lines else []


def _widths(found: Prospect) -> list[Text | Table]:
    """How wide the interval will be, whatever the overhead is."""
    table = plain_table((("rounds", True), ("time", True), ("width, points", True), ("8 in 10 runs", True)))
    for width in _some(found.widths):
        low, high = (f"{100 * end:.2f}" for end in width.width80)
        table.add_row(f"{width.rounds}", duration(width.seconds), f"{100 * width.width:.2f}", f"{low} … {high}")
    return [Text("How wide the 95 % HDI of the overhead will be", style="bold"), table]


def _some(widths: Sequence[Width]) -> Iterable[Width]:
    """Every second one where there are many, the last one always."""
    step = 1 if len(widths) <= _MOST_WIDTHS else 2
    return reversed(widths[::-1][::step])


def _notes(found: Prospect) -> list[str]:
    source = f"a pilot of {duration(found.pilot_seconds)}, runs" if found.pilot_seconds is not None else "runs"
    error = 100 * (found.assurance * (1 - found.assurance) / found.simulated) ** 0.5
    again = plan_command(found.run_ids, found.again, "--effect", "3%", "--rope", "1%")
    return [
        f"From {source} {', '.join(found.run_ids)} ({found.engine}, {found.workload}). Each chance is of"
        f" {found.simulated} simulated runs whose noise and instance effects vary within their uncertainty; its own"
        f" error is about {error:.1f} points. docs/plan.md says what is assumed.",
        f"Again for other overheads, without measuring: {again}",
    ]
