"""Rows of the user's, staged: tdelta's own copy of them, what is in it, and the workload on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from tdelta.messages import Caution
from tdelta.processes import Checksums, DatabaseJob, RestoreJob
from tdelta.processes.jobs import OwnTablesJob
from tdelta.processes.own_data import StagedCopy
from tdelta.processes.protocol import Tables
from tdelta.records import DatabaseFacts
from tdelta.workloads import Workload
from tdelta.workloads.database import Database


@dataclass(frozen=True, slots=True)
class Source:
    """What a run on rows of the user's starts from, instead of generated ones.

    ``tables`` and ``checksums`` are of the rows as they were read, and of what tdelta added. ``constants`` are the
    variables that scripts are given. ``notes`` say what a proposal left out and why; ``cautions`` go with the answer.
    ``nondeterministic_tables`` are the tables into which transactions write what depends on the clock or on chance, so
    that they cannot be compared after trials. ``has_keys_only``: only keys of the rows are compared.
    """

    copy: StagedCopy
    database: Database
    workload: Workload
    constants: Mapping[str, int]
    tables: Tables
    checksums: Checksums
    is_proposed: bool
    notes: tuple[str, ...] = ()
    cautions: tuple[Caution, ...] = ()
    nondeterministic_tables: tuple[str, ...] = ()
    has_keys_only: bool = False

    def facts(self) -> DatabaseFacts:
        return self.copy.facts(self.database, is_proposed=self.is_proposed)

    def job(self) -> DatabaseJob | RestoreJob | OwnTablesJob:
        return self.copy.job(self.tables, self.checksums)

    def fingerprint(self) -> str:
        """A digest of the work: of the copy's identity, its rows, and the scripts with their variables."""
        rows = {table: list(found) for table, found in self.checksums.items()}
        values = [*self.copy.identity(), rows, self.workload.scripts(), dict(self.constants)]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload.scripts(),
            "keys": {key.name: key.table for key in self.workload.keys},
            "variables": dict(self.constants),
            "notes": list(self.notes),
        }
