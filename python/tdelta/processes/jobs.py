"""Requests to a worker, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from tdelta.evidence import TABLE
from tdelta.processes.load_generator.command import LoadGenerator

_SECOND_NS = 1_000_000_000

LOAD, REBUILD, ROUTINE = "load", "rebuild", "routine"
STEPS = (LOAD, REBUILD, ROUTINE)
"""Trials other than transactions and actions, see `tdelta.processes.answers`."""

TRANSACTIONS = ("warm", "cold")
"""Levels of ``work`` whose trials are transactions."""

TRACE, ROUTINE_TRACE = "trace", "routine trace"
"""Transactions one at a time on one connection, every statement metered by itself; the same of a routine."""


@dataclass(frozen=True, slots=True)
class PopulateJob:
    """How a twin's rows are made. ``tables`` pairs each table with its columns, for the checksums.

    ``rebuild_sql`` rebuilds the tables. It follows every load, unmeasured, so that queries find the tables in one
    state, whether a load or a rebuild was the trial before. The last statement of ``routine_sql`` calls the workload's
    stored routine, the others make it and what it works in.
    """

    plan: Mapping[str, object]
    seed: int
    tables_sql: tuple[str, ...]
    indexes_sql: tuple[str, ...]
    tables: tuple[tuple[str, tuple[str, ...]], ...]
    rebuild_sql: tuple[str, ...] = ()
    routine_sql: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        tables: Any = self.plan["tables"]
        return sum(int(table["rows"]) for table in tables)

    def request(self, threads: int) -> dict[str, Any]:
        made = {"tables": self.tables_sql, "indexes": self.indexes_sql}
        return {"plan": self.plan, "seed": self.seed, "threads": threads, **made}

    def step_request(self, step: str, threads: int) -> dict[str, Any]:
        """The request ``step`` to a worker: what is not measured, a load, statements."""
        if step == REBUILD:
            return {"before": [], "load": None, "statements": list(self.rebuild_sql)}
        if step == ROUTINE:
            return {"before": list(self.routine_sql[:-1]), "load": None, "statements": list(self.routine_sql[-1:])}
        before = [f"DROP TABLE IF EXISTS {name}" for name, _ in self.tables]
        return {"before": before, "load": self.request(threads), "statements": []}


@dataclass(frozen=True, slots=True)
class DatabaseJob:
    """How a twin's rows come out of a user's database: ``path`` is a plain copy of tdelta's own.

    ``layout`` is how it is laid out, in its engine's words. ``tables`` are compared, by the ``checksums`` of the copy
    as it was read (rows and digest); ``file`` is the database as its owner named it.
    """

    file: str
    path: Path
    layout: Any
    tables: tuple[tuple[str, tuple[str, ...]], ...]
    checksums: Mapping[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class RestoreJob:
    """How a twin's rows come out of a dump of the user's: ``command`` loads it into a private server.

    ``statements`` then make what is tdelta's own: key tables and markers, of which ``needles`` are searched for.
    ``tables`` are compared, by the ``checksums`` that the first restore gave.
    """

    command: str
    statements: tuple[str, ...]
    tables: tuple[tuple[str, tuple[str, ...]], ...]
    checksums: Mapping[str, tuple[int, str]]
    needles: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class OwnTablesJob:
    """Rows of the user's that twins read where they are; ``tables`` are compared, by the baseline's ``checksums``."""

    tables: tuple[tuple[str, tuple[str, ...]], ...]
    checksums: Mapping[str, tuple[int, str]]


_NEEDLE_BYTES, _NEEDLES_APART = 16, 16


def needles_of(job: PopulateJob | RestoreJob) -> tuple[bytes, ...]:
    """The beginnings of some planted rows, which searches look for."""
    if isinstance(job, RestoreJob):
        rows = job.needles
    else:
        tables: Any = job.plan["tables"]
        marker = next(table for table in tables if table["name"] == TABLE)
        rows = tuple(map(bytes.fromhex, marker["columns"][1]["hex"]))
    return tuple(row[:_NEEDLE_BYTES] for row in rows[::_NEEDLES_APART])


AnyJob: TypeAlias = PopulateJob | DatabaseJob | RestoreJob | OwnTablesJob
"""Where the rows of a run's twins come from."""


@dataclass(frozen=True, slots=True)
class WorkloadSpec:
    """The transactions of a workload with their weights, and the variables that hold throughout.

    With ``command``, trials run that instead; the transactions are those of the search for plaintext. ``writes`` says
    whether any of them changes rows. ``steps`` is what else trials may be. With ``agents``, these run the transactions
    (`tdelta.ray.load_agents.AgentPool`).
    """

    transactions: tuple[Mapping[str, object], ...]
    constants: Mapping[str, float]
    command: LoadGenerator | None = None
    writes: bool = True
    steps: PopulateJob | None = None
    agents: Any = None

    @property
    def work(self) -> dict[str, Any]:
        return {"transactions": self.transactions, "constants": self.constants}


@dataclass(frozen=True, slots=True)
class TrialJob:
    """The parameters of one trial.

    ``stream`` names the set of operations, the same for every twin in a block. ``first_op`` is ``:op`` of the first.
    ``discard`` is how many operations at the head are not recorded.
    ``rate`` is operations per second over all threads, None for a closed loop. ``injected`` is a share (0.05).
    ``patience_seconds`` is how long after its deadline an operation is broken off that is still under way.
    ``trial_seconds`` is how long it is to take about, for commands that are told a time. ``step`` names what is done in
    place of transactions (`tdelta.processes.answers`, or an action of `tdelta.design.actions`), or `TRACE`; empty where
    they run as they are. ``during`` is the level of that factor: what goes on beside the transactions; empty where it
    is not varied.
    """

    seed: int
    stream: int
    operations: int
    first_op: int
    deadline_seconds: float
    discard: int = 0
    rate: float | None = None
    injected: float = 0.0
    patience_seconds: float = 30.0
    trial_seconds: float = 0.0
    step: str = ""
    during: str = ""

    @property
    def head_seconds(self) -> float:
        return self.trial_seconds * self.discard / max(1, self.operations)

    def as_json(self) -> dict[str, object]:
        return {
            "seed": self.seed,
            "stream": self.stream,
            "operations": self.operations,
            "discard": self.discard,
            "first_op": self.first_op,
            "deadline_ns": round(self.deadline_seconds * _SECOND_NS),
            "patience_ns": round(self.patience_seconds * _SECOND_NS),
            "pace": {"kind": "closed"} if self.rate is None else {"kind": "poisson", "rate": self.rate},
            "planted": self.injected,
        }
