"""Tails of a run: how often the user's threshold was exceeded, and the 99th percentile, over the plain twins'.

Secondary by design: tails need far more data than means, so nothing is decided on them. All figures come from the
trials' histograms over complete blocks, the mix as a whole and each transaction type; the models, with their simulated
coverage, are in `exceedances`, `bad_trials`, `percentiles` and ``docs/validation.md``. Both plain twins together are
the baseline, as everywhere; the A/A twin is set beside the other one, and shows what chance does to a tail here.

Where twins change hosts, the baseline is the plain twin that was on the condition's host in every block: both sides
then have the same hosts equally often, also after an odd number of rounds, and a slower host cancels. A condition
without such a twin has no tails, nor has the A/A twin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tdelta.design import stream
from tdelta.inference.bad_trials import bad_counts, bad_trials
from tdelta.inference.costs import Panel, panels
from tdelta.inference.exceedances import Shares, exceedance_ratio, reason_for_none
from tdelta.inference.fits import PLAIN
from tdelta.inference.histograms import Counts, bin_of, decode, merged, shortest_ns
from tdelta.inference.percentiles import FEWEST_PAIRS, percentile_ns, percentile_ratio, side_of
from tdelta.inference.posterior import FloatArray
from tdelta.messages import Caution
from tdelta.records import ALL, Condition, Exceedance, Percentile, Percentile99, Role, RunSettings, TailMeasure, Trial

LATENCY_LIMIT = "latency_limit_seconds"
"""The option of a run that holds the threshold."""

SHOWN_QUANTILES = (0.95, 0.99)
"""The percentiles that every run has."""

_TRANSACTIONS = "tx:"

Gathered: TypeAlias = Mapping[tuple[int, str], Mapping[str, Counts]]
"""The response times of a trial by transaction type, `ALL` among them; by block and condition's key."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """One transaction of one condition beside its plain twins: for each block the histograms of a side's twins."""

    condition: Sequence[Sequence[Counts]]
    baseline: Sequence[Sequence[Counts]]


def threshold_ns(settings: RunSettings) -> int | None:
    """The threshold that a run was asked for, ns; None where it was not."""
    seconds = settings.options.get(LATENCY_LIMIT)
    return round(1e9 * seconds) if isinstance(seconds, int | float) else None


def tail_measures(
    trials: Sequence[Trial], settings: RunSettings, read: Callable[[], Iterable[Trial]]
) -> tuple[TailMeasure, ...]:
    """The tails of every judged condition and A/A twin, stratum by stratum, the mix before the transaction types.

    Args:
        trials: the run's, their histograms may be left out.
        settings: the run's; the threshold is in its options.
        read: gives the same trials with their histograms, one by one; not called where there is nothing to ask.

    Returns:
        Without a threshold and with fewer than `FEWEST_PAIRS` blocks only the mix's percentiles; nothing where no
        histograms are kept.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline, or a histogram is damaged.
    """
    latency_limit_ns = threshold_ns(settings)
    found = [panel for panel in panels(trials, settings) if panel.trials]
    if not found:
        return ()
    gathered = _gathered(read(), {(t.block, t.condition.key) for p in found for row in p.trials for t in row})
    return tuple(measure for panel in found for measure in _of_panel(panel, gathered, latency_limit_ns, settings.seed))


def tail_cautions(trials: Sequence[Trial], measures: Sequence[TailMeasure], settings: RunSettings) -> Iterator[Caution]:
    """Whose tails are left out, and what a run that was given a threshold could not say of it."""
    apart = [condition for panel in panels(trials, settings) for condition in _apart(panel)]
    yield from (Caution.of("tails-without-plain-twin", condition=condition.key) for condition in apart)
    if threshold_ns(settings) is not None and not apart and not any(one.exceedance for one in measures):
        yield Caution.of("latency-limit-no-times")


def _apart(panel: Panel) -> Iterator[Condition]:
    """The judged conditions that were on no plain twin's host."""
    plain = np.flatnonzero(panel.where(*PLAIN)).tolist()
    for at, condition in enumerate(panel.conditions):
        if panel.trials and condition.role.is_judged and not _beside(panel, at, plain):
            yield condition


def _beside(panel: Panel, at: int, plain: Sequence[int]) -> list[int]:
    """Which of these plain twins a condition is compared with: all, or those that were always on its host."""
    if len(panel.host_names) == 1:
        return list(plain)
    hosts = panel.hosts
    return [column for column in plain if bool((hosts[:, column] == hosts[:, at]).all())]


def _gathered(trials: Iterable[Trial], used: set[tuple[int, str]]) -> Gathered:
    found: dict[tuple[int, str], dict[str, Counts]] = {}
    for trial in trials:
        at = trial.block, trial.condition.key
        if at in used:
            found[at] = _by_transaction(trial)
    return found


def _by_transaction(trial: Trial) -> dict[str, Counts]:
    """A trial's types that ran, and the mix."""
    types = {
        name.removeprefix(_TRANSACTIONS): decode(payload)
        for name, payload in trial.measurement.histograms.items()
        if name.startswith(_TRANSACTIONS)
    }
    return {**types, ALL: merged(list(types.values()))}


def _of_panel(panel: Panel, gathered: Gathered, latency_limit_ns: int | None, seed: int) -> Iterator[TailMeasure]:
    baseline = panel.where(Role.BASELINE)
    both = panel.where(*PLAIN)
    has_tails = latency_limit_ns is not None or len(panel.trials) >= FEWEST_PAIRS
    transactions = _transactions(panel, gathered) if has_tails else [ALL]
    for at, condition in enumerate(panel.conditions):
        if condition.role is not Role.BASELINE:
            plain = np.flatnonzero(baseline if condition.role is Role.AA else both)
            beside = _beside(panel, at, plain.tolist())
            for transaction in transactions if beside else ():
                compared, kept = _compared(panel, gathered, transaction, [at], beside)
                measure = _measure(kept, condition, transaction, compared, latency_limit_ns, seed)
                if measure.exceedance is not None or measure.p99 is not None or measure.percentiles:
                    yield measure


def _transactions(panel: Panel, gathered: Gathered) -> list[str]:
    """The mix and the types that ran in any trial; of a single type only the mix, which is the same."""
    names = {name for row in panel.trials for t in row for name in gathered.get((t.block, t.condition.key), {})}
    types = sorted(names - {ALL})
    return [*([ALL] if types else []), *(types if len(types) > 1 else [])]


def _compared(
    panel: Panel, gathered: Gathered, transaction: str, twins: Sequence[int], plain: Sequence[int]
) -> tuple[_Compared, Panel]:
    """Both sides' histograms of the blocks in which the transaction ran on both, and the panel of these blocks."""

    def counts(block: int, columns: Sequence[int]) -> list[Counts]:
        trials = (panel.trials[block][column] for column in columns)
        return [gathered.get((t.block, t.condition.key), {}).get(transaction, merged([])) for t in trials]

    pairs = [(counts(block, twins), counts(block, plain)) for block in range(len(panel.trials))]
    blocks = [block for block, sides in enumerate(pairs) if all(any(t.total for t in side) for side in sides)]
    kept = dataclasses.replace(panel, trials=tuple(panel.trials[b] for b in blocks), rounds=panel.rounds[blocks])
    return _Compared([pairs[b][0] for b in blocks], [pairs[b][1] for b in blocks]), kept


def _measure(
    panel: Panel, condition: Condition, transaction: str, compared: _Compared, latency_limit_ns: int | None, seed: int
) -> TailMeasure:
    return TailMeasure(
        condition=condition,
        baseline=panel.baseline,
        transaction=transaction,
        blocks=len(panel.trials),
        rounds=panel.round_count,
        exceedance=None
        if latency_limit_ns is None or not panel.trials
        else _exceedance(panel, compared, latency_limit_ns),
        p99=_p99(panel, compared, seed),
        percentiles=tuple(_percentiles(compared)) if condition.role.is_judged and transaction == ALL else (),
    )


def _percentiles(compared: _Compared) -> Iterator[Percentile]:
    here, there = (merged([t for block in s for t in block]) for s in (compared.condition, compared.baseline))
    for quantile in SHOWN_QUANTILES:
        plain_ns, own_ns = percentile_ns(there, quantile), percentile_ns(here, quantile)
        if plain_ns is not None and own_ns is not None:
            yield Percentile(quantile, plain_ns, own_ns)


def _exceedance(panel: Panel, compared: _Compared, latency_limit_ns: int) -> Exceedance:
    last = bin_of(latency_limit_ns)
    condition, baseline = _shares(compared.condition, last), _shares(compared.baseline, last)
    here, there = condition.counted, baseline.counted
    reason = reason_for_none(here, there, len(panel.trials), panel.round_count)
    bad = [bad_counts(_longer(side, last), panel.rounds) for side in (compared.condition, compared.baseline)]
    return Exceedance(
        threshold_ns=latency_limit_ns,
        counted_from_ns=int(shortest_ns(np.array([last + 1]))[0]),
        baseline=there,
        condition=here,
        quotient=here.share / there.share if here.longer and there.longer else None,
        ratio=None if reason else exceedance_ratio(condition, baseline, panel.rounds),
        reason=reason,
        bad_trials=bad_trials(*bad),
    )


def _longer(blocks: Sequence[Sequence[Counts]], last: int) -> FloatArray:
    return np.array([[twin.beyond(last) for twin in block] for block in blocks], dtype=np.float64)


def _shares(blocks: Sequence[Sequence[Counts]], last: int) -> Shares:
    of = np.array([sum(twin.total for twin in block) for block in blocks], dtype=np.float64)
    return Shares(_longer(blocks, last).sum(axis=1), of)


def _p99(panel: Panel, compared: _Compared, seed: int) -> Percentile99 | None:
    if len(panel.trials) < FEWEST_PAIRS:
        return None
    condition, baseline = (side_of([merged(twins) for twins in s]) for s in (compared.condition, compared.baseline))
    if condition is None or baseline is None:
        return None
    # One stream for all: conditions of a run are held against the same draws, which costs nothing and scatters less.
    return percentile_ratio(condition, baseline, panel.rounds, stream(seed, "tails"))
