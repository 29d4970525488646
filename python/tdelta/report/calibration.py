"""The report of ``tdelta calibrate``, and the calibration of this machine that a run began with."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from tdelta.document.blocks import Block, Line, Lines, Paragraph, Table, columns, headed
from tdelta.document.labels import METRICS
from tdelta.document.quantities import MISSING, counted, duration, interval, percent, points, share, small_share
from tdelta.inference.decisions import ENOUGH_ROUNDS, Held, held
from tdelta.records import (
    CalibrationUsed,
    Counted,
    Decision,
    DetectableEffect,
    InjectedTally,
    MachineCalibration,
    Metric,
    MetricNoise,
    RunResult,
    RunSettings,
)
from tdelta.report.values import record_values, values_of

CALIBRATION_SCHEMA = "tdelta.calibration/1"


def calibration_document(found: MachineCalibration, exit_code: int) -> dict[str, object]:
    head = {"schema": CALIBRATION_SCHEMA, "exit_code": exit_code, "is_valid": found.is_valid}
    texts = {
        "faults": list(map(str, found.faults)),
        "fault_codes": values_of(found.faults),
        "cautions": list(map(str, found.cautions)),
        "caution_codes": values_of(found.cautions),
        "minimum_detectable_effect": detectable_values(found.minimum_detectable_effect, found.tolerance),
    }
    return head | record_values(found) | texts


def calibration_blocks(found: MachineCalibration) -> Iterator[Block]:
    """The smallest visible overhead first, then what the known truths showed."""
    yield _headline(found)
    if found.minimum_detectable_effect and found.is_valid:
        yield from _detectable(found)
    yield _identical(found)
    if found.injected:
        yield from _injected(found)
    if found.noise:
        yield from _noise(found)
    yield from headed("Faults", (("", str(fault)) for fault in found.faults), "faults")
    yield from headed("Cautions", (("", str(caution)) for caution in found.cautions), "cautions")
    runs = f"{counted(len(found.run_ids), 'run')} of {counted(found.rounds_per_run, 'round')}"
    where = f"{found.key.engine}, workload {found.key.workload}"
    yield Lines(
        (
            Line("calibration", f"{found.calibration_id}, seed {found.seed}: {where}"),
            Line("library", found.key.library),
            Line(
                "measured",
                f"{runs} of {counted(found.blocks_per_round, 'block')}; {duration(found.elapsed_seconds)} in all",
            ),
        )
    )


def _headline(found: MachineCalibration) -> Paragraph:
    where = f"{found.key.engine}, workload {found.key.workload}"
    if not found.is_valid:
        text = (
            f"INVALID: on this machine, tdelta reported differences between identical databases ({where}). This"
            " calibration will not be used."
        )
        return Paragraph(text, "answer", state="invalid")
    text = f"VALID: for {where}, identical copies differed by {small_share(found.identical.apart)}."
    overheads = ((one.minutes, one.overhead(found.tolerance)) for one in found.minimum_detectable_effect)
    if smallest := next(((minutes, cost) for minutes, cost in overheads if cost is not None), None):
        minutes, cost = smallest
        text += f" The smallest overhead that a run reports as slower is {percent(1 + cost)} in {minutes:g} minutes."
    return Paragraph(text, "answer", state="negligible")


def _detectable(found: MachineCalibration) -> Iterator[Block]:
    rows = [
        (f"{one.minutes:g} min", f"{one.rounds:,}", _overhead(one, found.tolerance), _overhead(one, 0.0))
        for one in found.minimum_detectable_effect
    ]
    yield Table("Smallest detectable overhead", columns("rounds", "slower", "above 0"), rows, name="a run of")
    yield Paragraph(
        f"The smallest overhead in response time that 9 in 10 runs report as larger than the {share(found.tolerance)}"
        " tolerance, or as larger than 0. For runs of three copies that use their whole time.",
        "note",
    )


def _overhead(one: DetectableEffect, limit: float) -> str:
    overhead = one.overhead(limit)
    return MISSING if overhead is None else percent(1 + overhead)


def _identical(found: MachineCalibration) -> Table:
    tally = found.identical
    rows = [
        ("reported as slower, faster or invalid", _runs(tally.false_calls), _share(tally.false_calls)),
        ("the interval includes 0", _runs(tally.held), _share(tally.held)),
    ]
    return Table("Identical copies", columns("runs", "95% interval"), rows, name="identical copies")


def _injected(found: MachineCalibration) -> Iterator[Block]:
    titles = columns("actual", "bias", "95% interval", "contained", "above 0")
    rows = [(f"{share(t.injected)}, {METRICS[Metric(t.metric)]}", *_injected_cells(t)) for t in found.injected]
    yield Table("Injected slowdowns", titles, rows, name="injected slowdown")
    contained = found.injected[0].held
    yield Paragraph(
        "Bias: measured less actual, in points. The 95% interval should contain the actual slowdown in 95% of runs;"
        f" {_runs(contained)} is consistent with {_share(contained)}.",
        "note",
    )


def _injected_cells(tally: InjectedTally) -> tuple[str, ...]:
    low, high = tally.bias_interval or (float("nan"), float("nan"))
    sure = interval((1 + low, 1 + high), 2)
    return percent(tally.actual), points(1 + tally.bias, 2), sure, _runs(tally.held), _runs(tally.found)


def _noise(found: MachineCalibration) -> Iterator[Block]:
    from tdelta.session.calibration_lookup import MOST_DAYS  # a run's answer needs none of it

    titles = columns("one trial", "a pair", "between copies", "95% interval", "copies")
    yield Table("Noise", titles, [(METRICS[Metric(n.metric)], *_noise_cells(n)) for n in found.noise], name="noise")
    note = "Standard deviations; the variation between copies stays the same for a whole round."
    if found.is_valid:
        note += f" For {MOST_DAYS} days, runs that match begin with this prior, unless --no-calibration is given."
    yield Paragraph(note, "note")


def _noise_cells(noise: MetricNoise) -> tuple[str, ...]:
    low, high = (small_share(end) for end in noise.instance_sd_interval)
    figures = (small_share(noise.trial_sd), small_share(noise.pair_sd), small_share(noise.instance_sd))
    return *figures, f"{low} to {high}", f"{noise.instances:,}"


def _runs(found: Counted) -> str:
    return f"{found.count} of {found.of}"


def _share(found: Counted) -> str:
    return f"{100 * found.low:.0f}% to {100 * found.high:.0f}%"


def held_text(result: RunResult) -> str | None:
    """How often the answers of such runs were right when simulated; None where no verdict stands."""
    if all(verdict.decision is Decision.INVALID for verdict in result.primary):
        return None
    found = _held(result)
    rounds = result.counts.rounds
    runs = counted(rounds, "round") if rounds < ENOUGH_ROUNDS else "three or more rounds"
    return (
        f"In simulations with {runs}, the interval contained the true value or the verdict was undecided in"
        f" {found.fewest}% to {found.most}% of runs."
    )


def simulated(result: RunResult) -> Held | None:
    """The results of simulations of such runs; None where no verdict is valid."""
    return _held(result) if held_text(result) else None


def _held(result: RunResult) -> Held:
    return held(result.counts.rounds)


def used_text(result: RunResult) -> str | None:
    """The calibration that a run began with, in a sentence or two; None where there was none."""
    used = result.settings.calibration
    if used is None:
        return None
    text = (
        f"Calibrated on {day(used.created_unix_seconds)} ({counted(used.runs, 'run')} here):"
        f" noise floor {small_share(used.noise_floor)}, the difference measured between identical copies."
    )
    smallest = _smallest(used, result.settings)
    return f"{text} Smallest detectable overhead: {smallest}." if smallest else text


def used_values(settings: RunSettings) -> dict[str, object] | None:
    """The calibration that a run began with, as JSON values; None where there was none."""
    used = settings.calibration
    if used is None:
        return None
    instance_effect = [{"metric": metric, **record_values(prior)} for metric, prior in used.instance_effect.items()]
    return record_values(used) | {
        "instance_effect": instance_effect,
        "minimum_detectable_effect": detectable_values(used.minimum_detectable_effect, settings.tolerance),
    }


def detectable_values(visible: Iterable[DetectableEffect], tolerance: float) -> list[dict[str, object]]:
    """The effects that runs of such lengths detect: the overhead called slower, and the one told from 0, as shares."""
    return [
        {**record_values(one), "mde_vs_tolerance": one.overhead(tolerance), "mde_vs_zero": one.overhead(0.0)}
        for one in visible
    ]


def day(unix_seconds: float) -> str:
    """A day in UTC, so that a text is the same wherever it is read: ``2026-11-22``."""
    return time.strftime("%Y-%m-%d", time.gmtime(unix_seconds))


def _smallest(used: CalibrationUsed, settings: RunSettings) -> str:
    """For response time and the tolerance only: a calibration does not cover other metrics, nor budgets."""
    if settings.metric is not Metric.RESPONSE_TIME or settings.budget is not None:
        return ""
    known = ((one.minutes, one.overhead(settings.tolerance)) for one in used.minimum_detectable_effect)
    return ", ".join(f"{percent(1 + found)} in {minutes:g} min" for minutes, found in known if found is not None)
