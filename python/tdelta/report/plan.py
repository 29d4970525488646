"""Output of ``tdelta plan``: the answer, minutes by overhead and tolerance, and the grounds of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Code, Heading, Line, Lines, Listing, Medium, Paragraph, Table, columns
from tdelta.document.labels import carried_words
from tdelta.document.quantities import amounts, counted, duration, share
from tdelta.records import Decision
from tdelta.records.instrument import Attainability, NoiseAtLength, Prospect, Target, Width
from tdelta.report.command import plan_command, run_command
from tdelta.report.values import record_values, values_of

PLAN_SCHEMA = "tdelta.plan/1"
_MOST_WIDTHS = 7


def plan_document(found: Prospect) -> dict[str, object]:
    values = record_values(found) | {
        "schema": PLAN_SCHEMA,
        "cautions": list(map(str, found.cautions)),
        "caution_codes": values_of(found.cautions),
        "primary_targets": [
            {"effect": target.effect, "tolerance": target.tolerance} for target in found.primary_targets
        ],
        "advised_seconds": None if found.advised_rounds is None else found.layout.seconds(found.advised_rounds),
        "advised_command": run_command(found.options) if found.options else None,
    }
    return {name: value for name, value in values.items() if name not in ("options", "again")}


def plan_blocks(found: Prospect) -> Iterator[Block]:
    for target in found.primary_targets:
        yield Paragraph(_headline(target, found), "lead")
    if found.options:
        yield Code(run_command(found.options), medium=Medium.BOTH)
    yield from _minutes(found)
    yield from _widths(found)
    yield from _lengths(found)
    yield from _scales(found)
    yield from _facts(found)
    yield Listing([("", str(caution)) for caution in found.cautions], "cautions")
    yield from _notes(found)


def _headline(target: Target, found: Prospect) -> str:
    task = _task(target)
    if target.attainability is Attainability.EDGE:
        why = str(target.reason)
        return f"{task}: impossible. {why[0].upper()}{why[1:]}."
    if target.rounds is None or target.seconds is None:
        return f"{task}: not within {duration(target.curve[-1].seconds)}: {target.reason}."
    first = "at least " if target.rounds == target.curve[0].rounds else ""
    return (
        f"{task}: {first}{counted(target.rounds, 'round')} of {counted(found.layout.blocks_per_round, 'block')},"
        f" {duration(target.seconds)}, for a chance of {share(found.assurance)}."
    )


def _task(target: Target) -> str:
    if target.decision in (Decision.OVER, Decision.WITHIN):
        return f"To decide the budget of {share(target.tolerance)} if the overhead is {share(target.effect)}"
    tolerance = f"±{share(target.tolerance)}"
    if target.effect == 0:
        return f"To find no relevant difference ({tolerance}) if encryption costs nothing"
    if target.decision is Decision.NEGLIGIBLE:
        return f"To find an overhead of {share(target.effect)} not relevant ({tolerance})"
    return f"To distinguish an overhead of {share(target.effect)} from {tolerance}"


def _minutes(found: Prospect) -> Iterator[Block]:
    tolerances = list(dict.fromkeys(target.tolerance for target in found.targets))
    effects = list(dict.fromkeys(target.effect for target in found.targets))
    targets = {(target.effect, target.tolerance): target for target in found.targets}
    is_budget = any(target.decision in (Decision.OVER, Decision.WITHIN) for target in found.targets)
    limit = "budget " if is_budget else "tolerance ±"
    titles = columns(*(f"{limit}{share(tolerance)}" for tolerance in tolerances))
    rows = [
        (
            "none" if effect == 0 else f"+{share(effect)}",
            *(_rounds(targets[effect, tolerance]) for tolerance in tolerances),
        )
        for effect in effects
    ]
    title = f"Rounds and time until {share(found.assurance)} of runs give the right verdict"
    yield Heading(title, Medium.BOTH)
    yield Table(title, titles, rows, name="true overhead")


def _rounds(target: Target) -> str:
    if target.attainability is Attainability.EDGE:
        return "never (edge)"
    if target.rounds is None or target.seconds is None:
        return f"> {duration(target.curve[-1].seconds)}"
    return f"{target.rounds} in {duration(target.seconds)}"


def _widths(found: Prospect) -> Iterator[Block]:
    rows = [
        (
            f"{width.rounds}",
            duration(width.seconds),
            f"{100 * width.width:.2f}",
            " to ".join(f"{100 * end:.2f}" for end in width.width80),
        )
        for width in _some(found.widths)
    ]
    title = "Expected width of the 95% interval of the overhead"
    yield Heading(title, Medium.BOTH)
    yield Table(title, columns("time", "width, points", "8 in 10 runs"), rows, name="rounds")


def _some(widths: Sequence[Width]) -> Iterator[Width]:
    step = 1 if len(widths) <= _MOST_WIDTHS else 2
    return reversed(widths[::-1][::step])


def _lengths(found: Prospect) -> Iterator[Block]:
    lengths = found.grounds.lengths
    rows = [
        (
            _seconds(length.trial_seconds),
            f"{length.blocks} in {length.rounds}",
            cost,
            f"{100 * length.sd:.2f}",
            " to ".join(f"{100 * end:.2f}" for end in length.sd95),
            _seconds(length.slot_seconds),
            f"{length.time_for_same:.2f}×",
            length.where,
        )
        for length, cost in zip(lengths, amounts((one.cost for one in lengths), found.metric.unit), strict=True)
    ]
    title = "Noise of a trial by its length"
    yield Heading(title, Medium.BOTH)
    titles = ("blocks", "cost", "noise, %", "95%", "slot", "effort", "")
    yield Table(title, columns(*titles, texts=("",)), rows, name="trial")
    yield Paragraph("slot: time with the switch; effort: time for equal precision", "note")


def _scales(found: Prospect) -> Iterator[Block]:
    """The Allan deviation, where there is more than one scale."""
    rows = [row for length in found.grounds.lengths for row in _scale_rows(length)]
    if rows:
        title = "Noise by time scale: means over consecutive blocks"
        yield Heading(title, Medium.BOTH)
        yield Table(title, columns("noise, %", "excess", "95%"), rows, name="mean of")
        yield Paragraph("excess: the variance of such a mean over that of independent trials", "note")


def _scale_rows(length: NoiseAtLength) -> Iterator[tuple[str, str, str, str]]:
    if len(length.scales) < 2:
        return
    for scale in length.scales:
        of = f"{scale.trials} x {_seconds(length.trial_seconds)}{f', {length.where}' if length.where else ''}"
        reach = "" if scale.trials == 1 else " to ".join(f"{end:.2f}" for end in scale.excess95)
        yield of, f"{100 * scale.sd:.2f}", f"{scale.excess:.2f}", reach


def _facts(found: Prospect) -> Iterator[Block]:
    effect, times, layout, advice = found.grounds.instance_effect, found.grounds.times, found.layout, found.advice
    low, high = (share(round(end, 5)) for end in effect.sd95)
    trial = "unknown" if advice.trial_seconds is None else _seconds(advice.trial_seconds)
    yield Heading("Other findings", Medium.BOTH)
    yield Lines(
        (
            Line(
                "copies differ by",
                f"{share(round(effect.sd, 5))} (95% interval {low} to {high}, from {effect.instances} copies):"
                f" {100 * found.widths[0].instance_share:.0f}% of a round's variance",
            ),
            Line("carry-over", carried_words(found.grounds.carry_over)),
            Line("unknown", "; ".join(map(str, found.grounds.carry_over.unknown))),
            Line(
                "time",
                f"set-up {duration(layout.set_up_seconds)}; new copies of a round {duration(layout.round_seconds)}; a"
                f" switch {duration(times.switch_seconds)}; a block {duration(layout.block_seconds)}",
            ),
            Line("best trial", f"{trial}: {advice.trial_words}"),
            Line("best round", f"{advice.blocks_per_round} blocks: {advice.blocks_words}"),
        )
    )


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s"


def _notes(found: Prospect) -> Iterator[Block]:
    source = f"a pilot of {duration(found.pilot_seconds)}, runs" if found.pilot_seconds is not None else "runs"
    error = 100 * (found.assurance * (1 - found.assurance) / found.simulated) ** 0.5
    yield Paragraph(
        f"From {source} {', '.join(found.run_ids)} ({found.engine}, {found.workload}). Each chance is of"
        f" {found.simulated} simulated runs whose noise and copies vary within their uncertainty; its own"
        f" error is about {error:.1f} points. docs/how-it-works.md has the assumptions.",
        "note",
    )
    again = plan_command(found.run_ids, found.again, "--effect", "3%", "--tolerance", "1%")
    yield Paragraph(f"For other overheads, without measuring again: {again}", "note")
