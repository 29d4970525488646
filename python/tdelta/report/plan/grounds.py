"""What a plan rests on: noise by length and scale, instance effects, carry-over, wall clock, better layouts."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from tdelta.document.labels import carried_words
from tdelta.document.quantities import amounts, duration, share
from tdelta.records.prospects import NoiseAtLength, Prospect
from tdelta.report.drawing import paragraph, plain_table

_INDENT = "  "


def grounds(found: Prospect, width: int) -> list[list[Text | Table]]:
    return [_lengths(found, width), _scales(found), _facts(found, width)]


def _lengths(found: Prospect, width: int) -> list[Text | Table]:
    table = plain_table(
        (
            ("trial", True),
            ("blocks", True),
            ("cost", True),
            ("noise, %", True),
            ("95%", True),
            ("slot", True),
            ("effort", True),
            ("", False),
        )
    )
    costs = amounts((length.cost for length in found.grounds.lengths), found.metric.unit)
    for length, cost in zip(found.grounds.lengths, costs, strict=True):
        table.add_row(
            _seconds(length.trial_seconds),
            f"{length.blocks} in {length.rounds}",
            cost,
            f"{100 * length.sd:.2f}",
            " … ".join(f"{100 * end:.2f}" for end in length.sd95),
            _seconds(length.slot_seconds),
            f"{length.time_for_same:.2f}×",
            length.where,
        )
    shown = "blocks in rounds; slot: wall clock with the switch; effort: wall clock for equal precision"
    return [Text("Noise of a trial by its length", style="bold"), *paragraph(shown, width, "dim"), table]


def _scales(found: Prospect) -> list[Text | Table]:
    """The Allan deviation, where there is more than one scale."""
    rows = [row for length in found.grounds.lengths for row in _scale_rows(length)]
    if not rows:
        return []
    table = plain_table((("mean of", False), ("noise, %", True), ("excess", True), ("95%", True)))
    for row in rows:
        table.add_row(*row)
    shown = "excess: the variance of such a mean over that of independent trials"
    return [Text("Noise by time scale: means over consecutive blocks", style="bold"), Text(shown, style="dim"), table]


def _scale_rows(length: NoiseAtLength) -> Iterator[tuple[str, str, str, str]]:
    if len(length.scales) < 2:
        return
    for scale in length.scales:
        of = f"{scale.trials} x {_seconds(length.trial_seconds)}{f', {length.where}' if length.where else ''}"
        reach = "" if scale.trials == 1 else " … ".join(f"{end:.2f}" for end in scale.excess95)
        yield of, f"{100 * scale.sd:.2f}", f"{scale.excess:.2f}", reach


def _facts(found: Prospect, width: int) -> list[Text | Table]:
    instance_effect, times, layout, advice = (
        found.grounds.instance_effect,
        found.grounds.times,
        found.layout,
        found.advice,
    )
    low, high = (share(round(end, 5)) for end in instance_effect.sd95)
    trial = "not known" if advice.trial_seconds is None else _seconds(advice.trial_seconds)
    lines = [
        (
            "instance effect",
            f"{share(round(instance_effect.sd, 5))} (95% {low} … {high}), of {instance_effect.instances} instances; it"
            f" makes {100 * found.widths[0].instance_share:.0f}% of a round's variance",
        ),
        ("carry-over", carried_words(found.grounds.carry_over)),
        ("cannot be told", "; ".join(map(str, found.grounds.carry_over.unknown))),
        (
            "wall clock",
            f"set-up {duration(layout.set_up_seconds)}; fresh twins of a round {duration(layout.round_seconds)}; a"
            f" switch {duration(times.switch_seconds)}; a block {duration(layout.block_seconds)}",
        ),
        ("best trial", f"{trial}: {advice.trial_words}"),
        ("best round", f"{advice.blocks_per_round} blocks: {advice.blocks_words}"),
    ]
    column = max(len(name) for name, _ in lines) + len(_INDENT)
    return [
        Text("What else was found", style="bold"),
        *(text for name, words in lines for text in paragraph(f"{name:<{column}}{words}", width, indent=" " * column)),
    ]


def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s"
