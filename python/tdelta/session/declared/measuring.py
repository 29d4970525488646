"""The options that say how it is measured: what is compared, how long a run goes on and what it decides, its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tdelta.engines.takes import Takes
from tdelta.records import DEFAULT_TOLERANCE, ENCRYPTION, Level, Metric
from tdelta.session import values
from tdelta.session.groups import Group
from tdelta.session.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """What is compared, and how trials are laid out. Times are seconds.

    ``vary`` maps a factor to its levels in the user's order; ``cipher`` always gains the level ``none``.
    ``contrast`` is ``cipher``, or of `tdelta compare` the factor whose levels are builds, none of which encrypts.
    ``warmup_seconds`` is how much of the head of a trial is not recorded; None is a tenth of it.
    ``blocks_per_round_is_given``: they were typed; otherwise fewer are used if more rounds fit so. ``bb_control``:
    whether a second instance of an encrypted condition runs beside it; None where there is room for one. ``trace``:
    after each measured trial its twin runs some transactions with every statement metered by itself. ``profile``: after
    the measured trials of a round, twins are run once more and sampled by ``perf``.
    """

    vary: Mapping[str, tuple[Level, ...]] = option(
        "--vary",
        values.Factors(),
        "Levels to compare: threads=1,4.",
        {},
        shown="cipher=aes-256",
        of_study=False,
        group=Group.COMMON,
    )
    contrast: str = option("", values.Value(), "Factor whose first level is the baseline.", ENCRYPTION, of_study=False)
    trial_seconds: float = option(
        "--trial-time",
        values.Duration(),
        "Length of a trial of the unencrypted copy.",
        0.25,
        open_loop=2.0,
        decides_trial=True,
        group=Group.ADVANCED,
    )
    warmup_seconds: float | None = option(
        "--warmup",
        values.Duration(zero=True),
        "Warm-up at the start of each trial, not recorded.",
        shown="a tenth",
        decides_trial=True,
    )
    blocks_per_round: int = option("--blocks", values.WholeNumber(), "Blocks per round.", 6, calibrates=True)
    blocks_per_round_is_given: bool = option(
        "", values.Flag(), "Whether --blocks was typed.", False, of_study=False, compare=False
    )
    self_test: bool = option(
        "--self-test",
        values.Flag(),
        "Compare identical unencrypted copies: is this machine stable enough?",
        False,
        of_pilot=False,
        group=Group.COMPARISON,
    )
    aa_control: bool = option(
        "--no-aa",
        values.Flag(stands_for=False),
        "Omit the A/A control; the noise is then unknown.",
        True,
        of_pilot=False,
        group=Group.ADVANCED,
    )
    bb_control: bool | None = option(
        "--no-bb",
        values.Flag(stands_for=False),
        "Omit the B/B control, a second encrypted copy.",
        shown="included if time permits",
        of_pilot=False,
        group=Group.ADVANCED,
    )
    inject: tuple[float, ...] = option(
        "--inject",
        values.Percents(),
        "Add an unencrypted copy that is slowed by this much; repeatable.",
        (),
        of_pilot=False,
        group=Group.COMPARISON,
    )
    trace: bool = option(
        "--trace",
        values.Flag(),
        "Meter each statement separately in extra trials: CPU, elapsed time, reads, rows.",
        False,
        takes=Takes.TRACES,
        of_pilot=False,
        group=Group.DIAGNOSTICS,
    )
    profile: bool = option(
        "--profile",
        values.Flag(),
        "Sample the functions of each copy with perf in unmeasured trials, to see where CPU time goes.",
        False,
        of_pilot=False,
        of_study=False,
        group=Group.DIAGNOSTICS,
    )
    seed: int | None = option(
        "--seed",
        values.WholeNumber(least=0, most=2**63 - 1),
        "Random seed; recorded either way.",
        shown="random",
        calibrates=True,
        of_study=False,
        group=Group.ADVANCED,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOptions:
    """How long a run goes on, and what it decides. Shares are quotients less one: ``tolerance=0.02``.

    ``tolerance_is_given``: the tolerance is what the user said, and not the default, though it may be as large.
    ``max_seconds_is_given``: the same of the time; a default time is extended where it is too short for a run.
    ``latency_limit_seconds`` is what a transaction may take; how often it took longer is told, and never decided on.
    ``use_calibration``: a run begins with what `tdelta calibrate` found here, where anything fits.
    """

    min_rounds: int = option(
        "--rounds",
        values.Rounds(),
        "Rounds with new copies.",
        3,
        shown="3, as many as time allows",
        also="max_rounds",
        of_pilot=False,
        group=Group.COMPARISON,
    )
    max_rounds: int | None = option("", values.WholeNumber(), "The most rounds.")
    max_seconds: float = option(
        "--max-time", values.Duration(), "Total time, set-up included.", 85.0, of_pilot=False, group=Group.COMMON
    )
    max_seconds_is_given: bool = option(
        "", values.Flag(), "Whether --max-time was typed.", False, of_study=False, compare=False
    )
    tolerance: float = option(
        "--tolerance",
        values.Percent(),
        "Differences below this count as none.",
        DEFAULT_TOLERANCE,
        calibrates=True,
        of_pilot=False,
        group=Group.COMMON,
    )
    tolerance_is_given: bool = option(
        "", values.Flag(), "Whether --tolerance was typed.", False, of_study=False, compare=False
    )
    budget: float | None = option(
        "--budget",
        values.Percent(),
        "Fail with exit code 5 if the overhead is larger.",
        of_pilot=False,
        group=Group.COMMON,
    )
    metric: Metric = option(
        "--metric",
        values.Choice("NAME", names=tuple(metric.value for metric in Metric), make=Metric),
        f"Cost that decides: {', '.join(Metric)}.",
        Metric.RESPONSE_TIME,
        group=Group.COMPARISON,
    )
    latency_limit_seconds: float | None = option(
        "--latency-limit",
        values.ResponseTime(),
        "Report how often transactions exceed TIME (20ms); informational only.",
        of_study=False,
        group=Group.COMPARISON,
    )
    use_calibration: bool = option(
        "--no-calibration",
        values.Flag(stands_for=False),
        "Ignore what `tdelta calibrate` found here.",
        True,
        of_study=False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    directory: Path | None = option(
        "--dir",
        values.PathValue("DIR"),
        "Folder for the files of the copies.",
        shown="~/.cache/tdelta",
        calibrates=True,
        of_study=False,
        group=Group.CONTROL,
    )
    store: Path | None = option(
        "--store",
        values.PathValue("FILE", is_folder=False),
        "File that keeps the results.",
        shown="TDELTA_STORE, else the user's data folder",
        calibrates=True,
        of_study=False,
        group=Group.OUTPUT,
    )
    labels: tuple[str, ...] = option(
        "--label",
        values.Labels(),
        "Label by which commands find the run; repeatable.",
        (),
        of_pilot=False,
        of_study=False,
        group=Group.OUTPUT,
    )
