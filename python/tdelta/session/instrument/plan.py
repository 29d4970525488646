"""How long must one measure here? Learns it from stored runs, or from a pilot of identical twins that it conducts.

A pilot is a few short runs of plain twins only, with trials of several lengths. It never sees what encryption costs, so
that nobody can stop, or go on, because of what a pilot showed.
"""

from __future__ import annotations

import dataclasses
import math
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tdelta.design import lay_out
from tdelta.errors import TimeFault, UsageError
from tdelta.inference.instrument.measured import MeasuredRun, PlannedRun, teaches
from tdelta.inference.instrument.prospects import PlanQuery, prospect
from tdelta.inference.run_analysis import interim_estimates
from tdelta.messages import Caution, Refusal
from tdelta.processes import MakeTwins
from tdelta.processes.jobs import TRANSACTIONS
from tdelta.records import Condition, Event, Level, Metric, Phase, Role, RunPlanned, RunResult, RunSettings
from tdelta.records.instrument import Prospect
from tdelta.records.kept import RunKind
from tdelta.session.request import RunRequest
from tdelta.session.run import conduct
from tdelta.session.run_plan import check, plan
from tdelta.store import Store

PILOT_SECONDS = 120.0
SERVER_PILOT_SECONDS = 900.0
"""Wall clock of a pilot by default; a server's set-up takes the longer part of it."""

_MULTIPLES = (1, 2, 4)
_SERVER_MULTIPLES = (1, 3)
"""Lengths of the pilot's trials, in lengths of the run's. None is shorter: trials so short that caches stay cold change
the overhead itself."""

_MANY_ROUNDS = 1000
_FEWEST_LEFT_SECONDS = 5.0
_MARGIN = 1.15
"""On top of the time that the advised rounds should take: --max-time ends a run that would be late."""


def from_runs(
    names: Sequence[str], asked: PlanQuery, store_path: Path | None, metric: Metric | None = None
) -> Prospect:
    """Plan from stored runs, of trials of one length or of several; the first one is the run that is planned again.

    Args:
        names: runs, as `Store.resolve` takes them.
        store_path: the store, or None for the default one.
        metric: the cost that decides; the first run's own if None.

    Raises:
        UnknownName: there is no such run.
        UsageError: a run holds nothing to learn from, or has loads or rebuilds.
    """
    with Store.open(store_path, must_exist=True) as store:
        found = list(dict.fromkeys(store.resolve(name) for name in names))
        runs = [MeasuredRun.stored(store, run_id) for run_id in found]
    _refuse_steps([condition for run in runs for condition in run.settings.conditions])
    first = runs[0].settings
    request = RunRequest.from_json(first.options).replace(self_test=False, store=store_path)
    planned = _planned(_conditions(first, request), request)
    asked = _of_gate(asked, runs[0])
    return _with_options(prospect(runs, planned, asked, metric or first.metric), request, asked, metric)


def from_pilot(
    request: RunRequest,
    asked: PlanQuery,
    observer: Callable[[Event], None],
    pilot_seconds: float | None = None,
    *,
    make_twins: MakeTwins | None = None,
    now: Callable[[], float] = time.monotonic,
) -> Prospect:
    """Conduct a pilot for the run that is asked about, and plan from it; what was typed is not advised against.

    The pilot's runs are kept in the store, so that `from_runs` can go over them again.

    Args:
        pilot_seconds: wall clock of the pilot; the default of the engine if None.
        make_twins: as for `conduct`.
        now: as for `conduct`.

    Raises:
        UsageError: what was asked cannot be done, or the pilot's time held too little to learn from.
        TdeltaError: as `conduct`.
        KeyboardInterrupt: the pilot was ended.
    """
    conditions = check(request)
    _refuse_steps(conditions)
    seconds = pilot_seconds or (SERVER_PILOT_SECONDS if request.is_served else PILOT_SECONDS)
    began = now()
    keeps_trial = "trial_seconds" in request.typed
    results = _conduct_pilot(request, seconds, observer, keeps_trial=keeps_trial, conduct_with=(make_twins, now))
    with Store.open(request.store, must_exist=True) as store:
        runs = [MeasuredRun.stored(store, result.settings.run_id) for result in results]
    taught = [run for run in runs if teaches(run, request.metric)]
    if not taught:
        raise UsageError(Refusal.of("pilot-too-short", found=seconds))
    planned = dataclasses.replace(
        _planned(conditions, request),
        set_up_seconds=_set_up_seconds(request),
        keeps_trial=keeps_trial,
        keeps_blocks="blocks_per_round" in request.typed,
    )
    observer(Phase("simulate", "how long a run must be"))
    learned = {run.settings.run_id for run in taught}
    cautions = (*_failed(results), *_too_short([run for run in runs if run.settings.run_id not in learned]))
    found = prospect(taught, planned, asked, request.metric, pilot_seconds=now() - began, cautions=cautions)
    return _with_options(found, request, asked)


def _of_gate(asked: PlanQuery, run: MeasuredRun) -> PlanQuery:
    """Of a run with a budget, unless overheads were typed: the overhead that it found, against its budget."""
    budget = run.settings.budget
    if budget is None or asked.effects or asked.tolerances:
        return asked
    found = [estimate.median - 1.0 for _, estimate, _ in interim_estimates(run.trials, run.settings)]
    if not found:
        return asked
    return dataclasses.replace(asked, effects=(round(max(found), 3),), tolerances=(budget,), is_budget=True)


def _refuse_steps(conditions: Sequence[Condition]) -> None:
    """Loads and rebuilds take as long as they take, and need not be in every block: nothing here knows of that."""
    works = dict.fromkeys(str(condition.get("work", "warm")) for condition in conditions)
    if steps := [work for work in works if work not in TRANSACTIONS]:
        raise UsageError(Refusal.of("steps-not-planned", works=" and ".join(steps)))


def _conduct_pilot(
    request: RunRequest,
    seconds: float,
    observer: Callable[[Event], None],
    *,
    keeps_trial: bool,
    conduct_with: tuple[MakeTwins | None, Callable[[], float]],
) -> list[RunResult]:
    """A run of identical twins for each length of trial, the time shared out evenly among those to come."""
    _, now = conduct_with
    began, results = now(), list[RunResult]()
    multiples = (1,) if keeps_trial or request.cold else _SERVER_MULTIPLES if request.is_served else _MULTIPLES
    for number, multiple in enumerate(multiples):
        left = seconds - (now() - began)
        if results and left < _FEWEST_LEFT_SECONDS:
            break
        length = multiple * request.trial_seconds
        observer(Phase("pilot", f"identical copies, trials of {length:g} s ({number + 1} of {len(multiples)})"))
        pilot = _of_identical_twins(request, length, left / (len(multiples) - number))
        try:
            results.append(_piloted(pilot, observer, conduct_with))
            if results[-1].interrupted:
                raise KeyboardInterrupt
        except TimeFault as fault:
            if results:
                break
            least = len(multiples) * fault.least_seconds
            raise TimeFault(seconds, least, fault.why, "--pilot-time") from None
        except KeyboardInterrupt as stopped:
            if results:
                where = [] if request.store is None else ["--store", str(request.store)]
                words = shlex.join(["tdelta", "plan", *_ids(results), *where])
                stopped.add_note(f"what the pilot measured is kept: {words}")
            raise
    return results


def _piloted(
    request: RunRequest, observer: Callable[[Event], None], conduct_with: tuple[MakeTwins | None, Callable[[], float]]
) -> RunResult:
    make_twins, now = conduct_with
    return conduct(request, _without_rounds(observer), kind=RunKind.PILOT, make_twins=make_twins, now=now)


def _of_identical_twins(request: RunRequest, trial_seconds: float, max_seconds: float) -> RunRequest:
    """The same run with plain twins only, which goes on until its time is up."""
    return request.replace(
        self_test=True,
        aa_control=True,
        inject=(),
        budget=None,
        trial_seconds=trial_seconds,
        min_rounds=_MANY_ROUNDS,
        max_rounds=None,
        max_seconds=max_seconds,
        typed=(*request.typed, "max_seconds"),
    )


def _ids(results: Sequence[RunResult]) -> list[str]:
    return [result.settings.run_id for result in results]


def _failed(results: Sequence[RunResult]) -> Iterator[Caution]:
    for result in results:
        for validity in result.validity:
            if validity.failed:
                yield Caution.of(
                    "pilot-check-failed", run=result.settings.run_id, check=validity.check, detail=validity.detail
                )


def _too_short(runs: Sequence[MeasuredRun]) -> Iterator[Caution]:
    for run in runs:
        seconds = run.settings.options["trial_seconds"]
        yield Caution.of("pilot-trials-too-long", seconds=seconds)


def _conditions(measured: RunSettings, request: RunRequest) -> tuple[Condition, ...]:
    """Those of the run that is planned again: of identical twins, as in a pilot, those of the run that they stood for.

    Which cipher stands where none was typed does not matter: it counts as one.
    """
    if not measured.options.get("self_test"):
        return measured.conditions
    vary: dict[str, tuple[Level, ...]] = {"cipher": ("aes-256",), **request.vary}
    return lay_out(vary, threads=request.threads, aa_control=request.aa_control, inject=request.inject)


def _planned(conditions: Sequence[Condition], request: RunRequest) -> PlannedRun:
    unpaired = [c for c in conditions if c.role is not Role.BB]  # of B/B twins a block has about one
    of_stratum = [c for c in unpaired if c.stratum == conditions[0].stratum]
    return PlannedRun(
        conditions=len(of_stratum),
        block_conditions=len(unpaired) + (len(unpaired) < len(conditions)),
        plain=sum(c.role in (Role.BASELINE, Role.AA) for c in of_stratum),
        judged=sum(c.role.is_judged for c in conditions),
        trial_seconds=request.trial_seconds,
        blocks_per_round=request.blocks_per_round,
    )


def _set_up_seconds(request: RunRequest) -> float:
    """Seconds of the set-up by `--dry-run`, where it can estimate them without making anything."""
    if request.database is not None or request.restore is not None or request.is_served:
        return 0.0
    made = plan(request, "plan")
    return made.engine.estimate(made).set_up_seconds(len(made.data_templates()))


def _with_options(found: Prospect, request: RunRequest, asked: PlanQuery, metric: Metric | None = None) -> Prospect:
    """Add the options to plan with again, and those of the run that is advised, where a number of rounds is.

    ``metric`` is the cost that was typed for stored runs, which need not be their own.
    """
    again = {
        "assurance": None if asked.assurance == PlanQuery().assurance else asked.assurance,
        "max_seconds": asked.max_seconds,
        "metric": None if metric is None else metric.value,
        "store": None if request.store is None else str(request.store.absolute()),
    }
    found = dataclasses.replace(found, again={name: value for name, value in again.items() if value is not None})
    if found.advised_rounds is None:
        return found
    seconds = _MARGIN * found.layout.seconds(found.advised_rounds)
    advised = request.replace(
        trial_seconds=request.trial_seconds if found.advice.trial_gain == 1.0 else found.layout.trial_seconds,
        blocks_per_round=found.layout.blocks_per_round,
        min_rounds=found.advised_rounds,
        max_rounds=found.advised_rounds,
        max_seconds=5.0 * math.ceil(seconds / 5.0),
        **_limit(found, asked),
        metric=found.metric,
    )
    return dataclasses.replace(found, options=advised.to_json())


def _limit(found: Prospect, asked: PlanQuery) -> dict[str, float | None]:
    limit = max(target.tolerance for target in found.primary_targets)
    return {"budget": limit} if asked.is_budget else {"tolerance": limit, "budget": None}


def _without_rounds(observer: Callable[[Event], None]) -> Callable[[Event], None]:
    """The same observer, not told of the rounds without end that a pilot asks for: its time ends it."""

    def observe(event: Event) -> None:
        observer(dataclasses.replace(event, rounds_min=1) if isinstance(event, RunPlanned) else event)

    return observe
