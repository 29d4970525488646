"""What ``tdelta calibrate`` prints: the smallest visible overhead first, then what the known truths showed."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from tdelta.document.quantities import MISSING, counted, duration, interval, percent, points, share, small_share
from tdelta.records import Counted, DetectableEffect, InjectedTally, MachineCalibration, Metric, MetricNoise
from tdelta.report.calibrated import detectable_values
from tdelta.report.drawing import NARROWEST, draw, paragraph, plain_table
from tdelta.report.values import record_values, values_of
from tdelta.session.calibration_lookup import MOST_DAYS

CALIBRATION_SCHEMA = "tdelta.calibration/1"

_METRICS = {Metric.RESPONSE_TIME.value: "response time", Metric.CPU_PER_OPERATION.value: "CPU per operation"}
_INDENT = "  "


def calibration_document(found: MachineCalibration, exit_code: int) -> dict[str, object]:
    head = {"schema": CALIBRATION_SCHEMA, "exit_code": exit_code, "is_valid": found.is_valid}
    texts = {
        "faults": list(map(str, found.faults)),
        "fault_codes": values_of(found.faults),
        "cautions": list(map(str, found.cautions)),
        "caution_codes": values_of(found.cautions),
    }
    return (
        head
        | record_values(found)
        | texts
        | {"minimum_detectable_effect": detectable_values(found.minimum_detectable_effect, found.tolerance)}
    )


def calibration_text(found: MachineCalibration, width: int, *, color: bool = False) -> str:
    """A calibration in a terminal or a pipe."""
    width = max(NARROWEST, width)
    sections = (
        _headline(found, width),
        _visible(found, width),
        _identical(found),
        _injected(found, width),
        _noise(found, width),
        _listed("Faults", list(map(str, found.faults)), width, "bold red"),
        _listed("Cautions", list(map(str, found.cautions)), width, "yellow"),
        _footer(found, width),
    )
    return draw([part for section in sections if section for part in (*section, Text())][:-1], width, color=color)


def _headline(found: MachineCalibration, width: int) -> list[Text | Table]:
    where = f"{found.key.engine}, workload {found.key.workload}"
    if not found.is_valid:
        said = (
            f"INVALID: on this machine, tdelta reported differences between identical databases ({where}). This"
            " calibration will not be used."
        )
        return [*paragraph(said, width, "bold white on red")]
    said = f"VALID: for {where}, identical copies differed by {small_share(found.identical.apart)}."
    shown = [(one, one.overhead(found.tolerance)) for one in found.minimum_detectable_effect]
    smallest = next((f"{percent(1 + cost)} in {one.minutes:g} minutes" for one, cost in shown if cost is not None), "")
    if smallest:
        said += f" The smallest overhead that a run reports as slower is {smallest}."
    return [*paragraph(said, width, "bold")]


def _visible(found: MachineCalibration, width: int) -> list[Text | Table]:
    if not found.minimum_detectable_effect or not found.is_valid:
        return []
    table = plain_table((("a run of", False), ("rounds", True), ("slower", True), ("above 0", True)))
    for one in found.minimum_detectable_effect:
        table.add_row(f"{one.minutes:g} min", f"{one.rounds:,}", _from(one, found.tolerance), _from(one, 0.0))
    note = (
        f"The smallest overhead in response time that 9 in 10 runs report as larger than the {share(found.tolerance)}"
        " tolerance, or as larger than 0. For runs of three copies that use their whole time."
    )
    return [table, Text(), *paragraph(note, width, "dim")]


def _from(one: DetectableEffect, limit: float) -> str:
    overhead = one.overhead(limit)
    return MISSING if overhead is None else percent(1 + overhead)


def _identical(found: MachineCalibration) -> list[Text | Table]:
    tally = found.identical
    table = plain_table((("identical copies", False), ("runs", True), ("95% interval", True)))
    table.add_row("reported as slower, faster or invalid", _runs(tally.false_calls), _share(tally.false_calls))
    table.add_row("the interval includes 0", _runs(tally.held), _share(tally.held))
    return [table]


def _injected(found: MachineCalibration, width: int) -> list[Text | Table]:
    if not found.injected:
        return []
    headings = ("actual", "bias", "95% interval", "contained", "above 0")
    table = plain_table((("injected slowdown", False), *((heading, True) for heading in headings)))
    for tally in found.injected:
        table.add_row(f"{share(tally.injected)}, {_METRICS[tally.metric]}", *_injected_cells(tally))
    held = found.injected[0].held
    note = (
        "Bias: measured less actual, in points. The 95% interval should contain the actual slowdown in 95% of runs;"
        f" {_runs(held)} is consistent with {_share(held)}."
    )
    return [table, Text(), *paragraph(note, width, "dim")]


def _injected_cells(tally: InjectedTally) -> tuple[str, ...]:
    low, high = tally.bias_interval or (float("nan"), float("nan"))
    sure = interval((1 + low, 1 + high), 2)
    return percent(tally.actual), points(1 + tally.bias, 2), sure, _runs(tally.held), _runs(tally.found)


def _noise(found: MachineCalibration, width: int) -> list[Text | Table]:
    if not found.noise:
        return []
    headings = ("one trial", "a pair", "instance effect", "95% interval", "instances")
    table = plain_table((("noise", False), *((heading, True) for heading in headings)))
    for noise in found.noise:
        table.add_row(_METRICS[noise.metric], *_noise_cells(noise))
    note = "Standard deviations; an instance effect lasts for the whole round."
    if found.is_valid:
        note += f" For {MOST_DAYS} days, runs that match begin with this prior, unless --no-calibration is given."
    return [table, Text(), *paragraph(note, width, "dim")]


def _noise_cells(noise: MetricNoise) -> tuple[str, ...]:
    low, high = (small_share(end) for end in noise.instance_sd_interval)
    figures = (small_share(noise.trial_sd), small_share(noise.pair_sd), small_share(noise.instance_sd))
    return *figures, f"{low.removesuffix(' %')} … {high}", f"{noise.instances:,}"


def _listed(title: str, lines: Iterable[str], width: int, style: str) -> list[Text | Table]:
    found = [text for line in lines for text in paragraph(f"- {line}", width, style, indent=_INDENT)]
    return [Text(title, style="dim"), *found] if found else []


def _footer(found: MachineCalibration, width: int) -> list[Text | Table]:
    runs = f"{counted(len(found.run_ids), 'run')} of {counted(found.rounds_per_run, 'round')}"
    lines = (
        f"calibration {found.calibration_id}, seed {found.seed}: {found.key.engine}, workload {found.key.workload}",
        f"library: {found.key.library}",
        f"{runs} of {counted(found.blocks_per_round, 'block')}; {duration(found.elapsed_seconds)} in all",
    )
    return [text for line in lines for text in paragraph(line, width, "dim", indent=_INDENT)]


def _runs(found: Counted) -> str:
    return f"{found.count} of {found.of}"


def _share(found: Counted) -> str:
    return f"{100 * found.low:.0f} … {100 * found.high:.0f}%"
