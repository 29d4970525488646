"""``tdelta calibrate``: a series of short runs whose truth is known, and what they say of the instrument together.

Each run is a whole run of `conduct`, with a seed and instances of its own: a baseline, its A/A twin, a third plain twin
that is judged as if it were encrypted, and a twin for each injected cost. So every run shows a false call where there
is one, and a bias; and all runs together show noise and instance effects. They stay in the store like any others. A run
is never begun with an earlier calibration, or errors would feed on themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tdelta.design import fresh_seed, stream
from tdelta.design.randomness import SEED_BITS
from tdelta.engines.registry import servers
from tdelta.errors import TimeFault, UsageError
from tdelta.inference.instrument.calibration import (
    detectable_effects,
    faults,
    identical_tally,
    injected_tallies,
    pooled_noise,
    tally_cautions,
    trustworthy,
    usual_layout,
)
from tdelta.inference.instrument.measured import MeasuredRun, strata_of
from tdelta.messages import Caution, Refusal
from tdelta.processes import MakeTwins
from tdelta.records import MachineCalibration, Metric, Phase, RunResult
from tdelta.records.kept import RunKind
from tdelta.session.clock import Clock
from tdelta.session.context import Observer
from tdelta.session.request import RunRequest
from tdelta.session.run import conduct
from tdelta.session.state import RunState
from tdelta.store import Store
from tdelta.store.store import add_calibration, fresh_calibration_id

INJECTED = (0.05,)
ROUNDS_PER_RUN = 3
MAX_SECONDS = 600.0
MAX_SECONDS_ON_SERVERS = 3600.0
_MOST_RUNS = 100
_SPARE = 1.1
"""A run is begun if that many times the longest one so far still fits."""

_METRICS = (Metric.RESPONSE_TIME, Metric.CPU_PER_OPERATION)
_CLOSING_SECONDS = 15.0
"""Kept back for what the runs say together."""


@dataclass
class _Series:
    results: list[RunResult] = field(default_factory=list)
    longest_seconds: float = 0.0
    interrupted: bool = False


def for_usual_time(request: RunRequest) -> RunRequest:
    """The same request with the time that a calibration takes where no other is asked for."""
    seconds = MAX_SECONDS_ON_SERVERS if request.engine in servers() else MAX_SECONDS
    return request.replace(max_seconds=seconds)


def calibrate_machine(
    request: RunRequest,
    observer: Observer,
    *,
    make_twins: MakeTwins | None = None,
    now: Callable[[], float] = time.monotonic,
) -> MachineCalibration:
    """Run identical and injected twins for as long as ``request.max_seconds`` allows, and keep what they say.

    Args:
        request: as for a run; what is compared, a study and a budget have no place in it. Without ``inject``, 5%.
        now: the clock, seconds.

    Raises:
        UsageError: what was asked cannot be calibrated; every fault is named at once.
        KeyboardInterrupt: before the first run had an answer.
        TdeltaError: as `tdelta.session.conduct`, from any of the runs.
    """
    _check(request)
    clock = Clock(request.max_seconds, now)
    seed = fresh_seed() if request.seed is None else request.seed
    request = request.replace(seed=seed, inject=request.inject or INJECTED)
    series = _run_all(request, observer, clock, make_twins, now)
    observer(Phase("judge", "what all runs say together"))
    with Store.open(request.store) as store:
        found = _assembled(request, series, store, clock.elapsed())
        add_calibration(store, found)
    return found


def _check(request: RunRequest) -> None:
    given = {
        "STUDY": request.study is not None,
        "--vary": bool(request.vary),
        "--budget": request.budget is not None,
        "--baseline and --encrypted": request.baseline is not None or request.encrypted is not None,
        "--restore": request.restore is not None,
        "--load-generator": request.load_generator is not None,
        "--hosts": request.hosts is not None,
        "--no-aa": not request.aa_control,
        "--no-bb": request.bb_control is False,
    }
    wrong = [
        Refusal.of("conflict", one=option, other="a calibration") for option, is_given in given.items() if is_given
    ]
    if wrong:
        raise UsageError(*wrong)


def _run_all(
    request: RunRequest,
    observer: Observer,
    clock: Clock,
    make_twins: MakeTwins | None,
    now: Callable[[], float],
) -> _Series:
    """Runs until the next would not fit. A Ctrl-C ends the series with the runs that have their answer."""
    series = _Series()
    while len(series.results) < _MOST_RUNS and not series.interrupted:
        number, began = len(series.results), clock.elapsed()
        if number and clock.left() < _SPARE * series.longest_seconds + _CLOSING_SECONDS:
            break
        observer(Phase("calibrate", _run_words(number, series, clock)))
        try:
            result = conduct(
                _of_series(request, number, clock.left()),
                observer,
                kind=RunKind.CALIBRATION,
                make_twins=make_twins,
                now=now,
            )
        except TimeFault as fault:
            if not series.results:
                least = fault.least_seconds + _CLOSING_SECONDS
                raise TimeFault(request.max_seconds, least, fault.why) from None
            break
        except KeyboardInterrupt:
            if not series.results:
                raise
            series.interrupted = True
            break
        series.interrupted = result.interrupted
        if not result.interrupted:
            series.results.append(result)
            series.longest_seconds = max(series.longest_seconds, clock.elapsed() - began)
        elif not series.results:
            raise KeyboardInterrupt
    return series


def _run_words(number: int, series: _Series, clock: Clock) -> str:
    if not number:
        return "run 1"
    more = int((clock.left() - _CLOSING_SECONDS) / series.longest_seconds)
    return f"run {number + 1} of about {number + max(1, more)}"


def _of_series(request: RunRequest, number: int, seconds_left: float) -> RunRequest:
    """The request of one run, with a seed of its own."""
    drawn = stream(request.seed or 0, "calibrate", number)
    return request.replace(
        seed=int(drawn.integers(1 << SEED_BITS)),
        self_test=True,
        min_rounds=ROUNDS_PER_RUN,
        max_rounds=ROUNDS_PER_RUN,
        max_seconds=max(1.0, seconds_left - _CLOSING_SECONDS),
        typed=(*request.typed, "max_seconds"),
        use_calibration=False,
        metric=Metric.RESPONSE_TIME,
    )


def _assembled(request: RunRequest, series: _Series, store: Store, elapsed_seconds: float) -> MachineCalibration:
    results = series.results
    sound = trustworthy(results)
    runs = [MeasuredRun.stored(store, result.settings.run_id) for result in sound]
    strata = {metric: [stratum for run in runs for stratum in strata_of(run, metric)] for metric in _METRICS}
    noise = {metric: pooled_noise(found, metric) for metric, found in strata.items() if found}
    responses = strata[Metric.RESPONSE_TIME]
    identical, injected = identical_tally(sound), injected_tallies(sound, is_truth=request.threads == 1)
    first = results[0]
    key = RunState.of(store, first.settings.run_id).key
    if key is None:  # what none can fit is refused before the first run
        raise UsageError(Refusal.of("calibration-not-of-run"))
    return MachineCalibration(
        calibration_id=fresh_calibration_id(store),
        created_unix_seconds=time.time(),
        seed=request.seed or 0,
        key=key,
        run_ids=tuple(result.settings.run_id for result in results),
        rounds_per_run=ROUNDS_PER_RUN,
        blocks_per_round=request.blocks_per_round,
        elapsed_seconds=elapsed_seconds,
        tolerance=request.tolerance,
        identical=identical,
        injected=injected,
        noise=tuple(pooled.record() for pooled in noise.values()),
        minimum_detectable_effect=()
        if not responses
        else detectable_effects(noise[Metric.RESPONSE_TIME], usual_layout(responses, request.blocks_per_round)),
        faults=tuple(faults(results, identical, injected, request.tolerance)),
        cautions=(*tally_cautions(len(sound), injected), *_cautions(series)),
        interrupted=series.interrupted,
        machine=first.machine,
    )


def _cautions(series: _Series) -> Iterator[Caution]:
    if series.interrupted:
        yield Caution.of("calibration-interrupted")
    short = sum(result.counts.rounds < ROUNDS_PER_RUN for result in series.results)
    if short:
        yield Caution.of("calibration-runs-short", short=short, runs=len(series.results), rounds=ROUNDS_PER_RUN)
