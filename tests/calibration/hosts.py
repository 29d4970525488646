"""Simulated runs whose twins change between hosts, one of which is slower, and may see another overhead."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from calibration.simulation import BASELINE, ENCRYPTED, TREATMENT, TWINS, Machine, settings, simulate
from tdelta.design.layout import hosts_of
from tdelta.inference.run_analysis import Judgement, analyze_run
from tdelta.records import Condition, SpanTotals, Trial
from tdelta.records.trials import Circumstances

PAIR = (BASELINE, TREATMENT)

MACHINE = Machine(trial_sd=0.03, instance_sd=0.01)
ROUNDS = 4


@dataclass(frozen=True)
class Slower:
    """A second host. ``host`` is the log of what costs more there, ``encryption`` what encryption costs more there."""

    host: float
    encryption: float = 0.0


def on_hosts(
    trials: Iterable[Trial], seed: int, slower: Slower, conditions: Sequence[Condition] = TWINS
) -> Iterator[Trial]:
    for trial in trials:
        host = hosts_of(seed, trial.round, conditions, 2)[trial.condition]
        own = slower.encryption if trial.condition.role in ENCRYPTED else 0.0
        factor = float(np.exp(host * (slower.host + own)))
        spans = trial.measurement.transactions.items()
        transactions = {name: SpanTotals(one.count, round(one.total_ns * factor)) for name, one in spans}
        measured = replace(trial.measurement, transactions=transactions, circumstances=Circumstances(host=f"h{host}"))
        yield replace(trial, measurement=measured)


def judged(truth: float, slower: Slower, conditions: Sequence[Condition] = TWINS) -> Iterator[Judgement]:
    """Answers of simulated runs, without end; ``truth`` is the log ratio."""
    for index in count():
        rng = np.random.default_rng([index, len(conditions), round(1e3 * truth), round(1e3 * slower.host)])
        trials = simulate(rng, MACHINE, [truth], rounds=ROUNDS, conditions=conditions)
        yield analyze_run(list(on_hosts(trials, index, slower, conditions)), settings(conditions))
