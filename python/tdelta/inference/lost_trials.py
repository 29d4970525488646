"""Trials that failed, by condition: what they would have cost is not known, and may be why they failed.

A block that lacks a trial is left out of the verdicts. That is fair where chance decides which trials fail, and hides
the cost where only the trials of one side do. Whether chance explains the difference is Fisher's exact test (Fisher
1935, "The Logic of Inductive Inference", Journal of the Royal Statistical Society 98:39), one-sided: a verdict is
only kept back by failures of the side whose cost it would understate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tdelta.inference.fits import PLAIN, treatment_of
from tdelta.messages import Caution, Reason
from tdelta.records import Condition, Decision, Role, RunSettings, Trial, Verdict

_CHANCE = 0.05

_KEPT_BACK_BY_OWN = frozenset({Decision.NEGLIGIBLE, Decision.FASTER, Decision.WITHIN, Decision.UNDECIDED})
"""Verdicts that an unknown cost of the condition could overturn; those of an unknown cost of the plain twins below."""
_KEPT_BACK_BY_PLAIN = frozenset({Decision.NEGLIGIBLE, Decision.SLOWER, Decision.OVER, Decision.UNDECIDED})


@dataclass(frozen=True, slots=True)
class Losses:
    """A condition whose trials failed more often than the plain twins' did, or less often, by more than chance."""

    condition: Condition
    lost: int  # how many of its trials failed
    trials: int
    plain_lost: int  # how many trials of the plain twins failed
    plain_trials: int

    @property
    def is_own(self) -> bool:
        """Whether it is the condition's trials that failed more often."""
        return self.lost * self.plain_trials > self.plain_lost * self.trials

    @property
    def figures(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in ("lost", "trials", "plain_lost", "plain_trials")}


def one_sided_losses(trials: Iterable[Trial], settings: RunSettings) -> tuple[Losses, ...]:
    """The judged conditions where chance does not explain whose trials failed, in the design's order.

    A trial is lost where it is missing from a block that others finished, or finished no operation.
    """
    finished: dict[tuple[int, int, int], set[Condition]] = {}
    for trial in trials:
        if trial.measurement.operations > 0:
            finished.setdefault((trial.condition.stratum, trial.round, trial.block), set()).add(trial.condition)
    rounds = {(at[:2], condition) for at, conditions in finished.items() for condition in conditions}

    def count(some: Sequence[Condition]) -> tuple[int, int]:
        """Lost and due: a twin that took no part in a round is not due in it."""
        due = [
            (condition, there)
            for (stratum, round_, _), there in finished.items()
            for condition in some
            if condition.stratum == stratum
            and (condition.role is not Role.BB or ((stratum, round_), condition) in rounds)
        ]
        return sum(condition not in there for condition, there in due), len(due)

    found = []
    for judged in (c for c in settings.conditions if c.role.is_judged):
        plain = count([c for c in settings.conditions if c.stratum == judged.stratum and c.role in PLAIN])
        own = count([c for c in settings.conditions if treatment_of(c) == judged])
        if min(_chance_of_more(own, plain), _chance_of_more(plain, own)) <= _CHANCE:
            found.append(Losses(judged, *own, *plain))
    return tuple(found)


def _chance_of_more(one: tuple[int, int], other: tuple[int, int]) -> float:
    """The probability of at least as many losses on one side, given how many there are; of (lost, due)."""
    lost, due = one
    all_lost, all_due = lost + other[0], due + other[1]
    ways = (math.comb(due, k) * math.comb(other[1], all_lost - k) for k in range(lost, min(due, all_lost) + 1))
    return sum(ways) / math.comb(all_due, all_lost)


def with_losses(verdicts: Iterable[Verdict], losses: Sequence[Losses]) -> Iterator[Verdict]:
    """The same verdicts; those that the cost of lost trials could overturn are ``undecided``, that reason last."""
    by_condition = {one.condition: one for one in losses}
    for verdict in verdicts:
        lost = by_condition.get(verdict.condition)
        if lost is None or verdict.decision not in (_KEPT_BACK_BY_OWN if lost.is_own else _KEPT_BACK_BY_PLAIN):
            yield verdict
        else:
            reason = Reason.of("one-sided-failures", **lost.figures)
            yield replace(verdict, decision=Decision.UNDECIDED, reasons=(*verdict.reasons, reason))


def loss_cautions(losses: Iterable[Losses]) -> Iterator[Caution]:
    for one in losses:
        yield Caution.of("one-sided-failures", condition=one.condition.key, **one.figures)
