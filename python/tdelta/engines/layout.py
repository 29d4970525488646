"""A run as an engine sees it: its conditions, its options and its data, without anything that belongs to an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tdelta.design.actions import ACTIONS, connects, parse_action
from tdelta.design.factors import cache_bytes
from tdelta.processes.jobs import TRANSACTIONS
from tdelta.processes.own_data import StagedCopy
from tdelta.records import Condition
from tdelta.workloads import Workload


@dataclass(frozen=True)
class RunLayout:
    """The part of a plan that engines see: it decides how twins are made, and what a run takes of the machine.

    ``options`` are the values of all options by their names, and ``scale`` is the workload's. ``copy`` is what
    the twins are made of where the rows are the user's; None where they are generated.
    """

    workload: Workload
    scale: float
    options: Mapping[str, Any] = field(init=False, repr=False, compare=False)
    conditions: tuple[Condition, ...] = field(init=False, repr=False, compare=False)
    copy: StagedCopy | None = field(init=False, repr=False, compare=False)

    @cached_property
    def size_bytes(self) -> int:
        """About how many bytes a plain twin's file takes."""
        return self.workload.size_at(self.scale) if self.copy is None else self.copy.size_bytes

    @property
    def rows(self) -> int:
        """How many rows are generated."""
        return sum(self.workload.rows(self.scale).values())

    @cached_property
    def writes(self) -> bool:
        """Whether transactions change rows."""
        return any(transaction.writes for transaction in self.workload.transactions)

    @cached_property
    def ciphers(self) -> tuple[str, ...]:
        """The ciphers of the run."""
        return tuple(dict.fromkeys(str(c.level("cipher")) for c in self.conditions))

    @property
    def strata(self) -> dict[int, tuple[Condition, ...]]:
        """The conditions of each stratum."""
        numbers = dict.fromkeys(condition.stratum for condition in self.conditions)
        return {n: tuple(c for c in self.conditions if c.stratum == n) for n in numbers}

    def level(self, condition: Condition, factor: str) -> Any:
        """A condition's level of a factor, or what the option of that name says for all."""
        return condition.get(factor, self.options.get(factor))

    def work(self, condition: Condition) -> str:
        """The work of a condition's trials: a level of the factor of that name."""
        return str(condition.get("work", "cold" if self.options["cold"] else "warm"))

    def is_cold(self, condition: Condition) -> bool:
        """Whether a condition's operations begin with nothing of the data in any cache."""
        return self.work(condition) == "cold"

    def step(self, condition: Condition) -> str:
        """Which step or action a condition's trials are; empty where they are of transactions."""
        work = self.work(condition)
        return "" if work in TRANSACTIONS else work

    def during(self, condition: Condition) -> str:
        """The action beside a condition's load: a level of the factor of that name; empty where it is not varied."""
        return str(condition.get("during", ""))

    def replication(self, condition: Condition) -> str:
        """The state of the replica beside a condition's load; empty where the server has none."""
        return str(condition.get("replication", ""))

    @cached_property
    def storages(self) -> tuple[str, ...]:
        """Storages of twins: every level of the factor ``storage``; none where it is not varied."""
        levels = (condition.get("storage") for condition in self.conditions)
        return tuple(dict.fromkeys(str(level) for level in levels if level is not None))

    @cached_property
    def has_replicas(self) -> bool:
        """Whether every server of the run has a replica."""
        return any(self.replication(condition) for condition in self.conditions)

    @cached_property
    def acts(self) -> frozenset[str]:
        """The actions of the run, as trials and beside them."""
        levels = {self.step(c) for c in self.conditions} | {self.during(c) for c in self.conditions}
        return frozenset(parse_action(level).name for level in levels) & ACTIONS.keys()

    @property
    def converts(self) -> bool:
        """Whether plain twins of the run are encrypted, or have been."""
        return any(ACTIONS[name].needs_keys for name in self.acts)

    @cached_property
    def connects(self) -> bool:
        """Whether opening connections is part of what is measured."""
        return self.workload.connects or connects(self.work(condition) for condition in self.conditions)

    def cache_bytes(self, condition: Condition, data_bytes: int) -> int:
        """Cache of a condition's twins, bytes: a share of the data, or the requested size."""
        return cache_bytes(self.level(condition, "cache"), data_bytes)


@dataclass(frozen=True, slots=True)
class ResourceEstimate:
    """Resources that a run needs. ``disk_bytes`` and ``memory_bytes`` are the largest amounts in use at once.

    ``open_files`` is the most that one process has; 0 where there are few. The seconds are of stages, in their order: a
    user's database made ready, a load of one kind, which ciphers are in force, the size of a trial found; then in a
    round all twins started, their prices measured, their rows read, ``laps`` warm-up trials on each; once a run the
    files of all twins searched. ``step_seconds`` are a load's or rebuild's, and ``cold_seconds`` what comes before a
    trial with cold caches. ``applied_trials`` is what comes after each of transactions, in times of its length, until a
    replica has applied it. ``times_calls``: the engine's own calls of its cipher can be timed.
    """

    disk_bytes: int
    memory_bytes: int
    open_files: int
    load_seconds: float
    start_seconds: float
    rows_seconds: float
    sizing_seconds: float
    stage_seconds: float = 0.0
    observe_seconds: float = 0.0
    price_seconds: float = 0.0
    laps: int = 1
    search_seconds: float = 0.0
    step_seconds: float = 0.0
    cold_seconds: float = 0.0
    applied_trials: float = 0.0
    times_calls: bool = False

    def set_up_seconds(self, kinds: int) -> float:
        """Until the first round begins, of so many kinds of data."""
        return self.stage_seconds + kinds * self.load_seconds + self.observe_seconds + self.sizing_seconds


def instance_key(condition: Condition, client_factors: tuple[str, ...]) -> object:
    """Two conditions with the same key share an instance: all levels that a twin sees; the condition if it sees all.

    An A/A or injected twin has an instance of its own.
    """
    if not client_factors:
        return condition
    levels = tuple((name, level) for name, level in condition.levels if name not in client_factors)
    return condition.role, condition.injected, levels


def instances_of(
    conditions: tuple[Condition, ...], client_factors: tuple[str, ...]
) -> dict[Condition, tuple[Condition, ...]]:
    """The conditions that share an instance, by the first of them."""
    shared: dict[object, list[Condition]] = {}
    for condition in conditions:
        shared.setdefault(instance_key(condition, client_factors), []).append(condition)
    return {alike[0]: tuple(alike) for alike in shared.values()}
