"""Tests of a restored dump, on every engine."""

from collections.abc import Mapping
from typing import Any

import pytest

from support.codes import details
from support.refused import Part, check_messages
from support.running import ANSWERED, Answered, Place
from tdelta.processes.answers import checksums
from tdelta.processes.jobs import TrialJob
from tdelta.processes.workers import Worker
from tdelta.workloads.database import Database
from tdelta.workloads.keys import key_variables
from tdelta.workloads.proposal import Proposal, TransactionKind


def check_choices(options: Mapping[str, object], database: Database, proposal: Proposal) -> None:
    """Every script of a proposal runs as it is prepared, and a write changes rows of its own table.

    Operations are looked at one by one: two of them may make of a row what it was.
    """
    with Worker() as worker:
        worker.ask("connect", options=options, connections=1)
        tables = tuple((table.name, table.stored_columns) for table in database.tables)
        constants = {**database.variables(), **key_variables(proposal.keys, database)}
        for choice in proposal.choices:
            before, changed = checksums(worker, tables), set[str]()
            for number in range(1, 7):
                trial = TrialJob(1, 1, 1, first_op=number, deadline_seconds=30.0).as_json()
                for script in choice.scripts:
                    given = {"name": choice.name, "weight": 1.0, "text": script}
                    answer = worker.ask("try", transaction=given, constants=constants, trial=trial)
                    assert answer["said"] is None, script
                changed |= {table for table, found in checksums(worker, tables).items() if found != before[table]}
            is_write = choice.kind in (TransactionKind.UPDATE, TransactionKind.INSERT)
            assert changed == ({choice.table} if is_write else set()), choice


class RestoredRuns:
    """A run on a dump of two tables, ``customers`` and ``line items``: its class has the fixture ``command``."""

    short: tuple[str, ...]
    facts: Mapping[str, Any]

    @pytest.fixture(scope="class")
    @classmethod
    def answered(cls, command: str, tmp_path_factory: pytest.TempPathFactory) -> Answered:
        place = Place(tmp_path_factory.mktemp("restored"))
        ran = place.tdelta("run", "--json", *cls.short, "--restore", command)
        assert ran.code in ANSWERED, ran.err
        return Answered(place, ran.code, ran.document)

    def test_a_dump_is_measured_on_both_kinds_of_twin(self, answered: Answered) -> None:
        checks = {check["code"]: check for check in answered.document["validity"]}
        assert checks["rows-before"]["ok"]
        check_messages(details(answered.document, "rows-before"), "rows-same", source=Part("1"))
        assert checks["files-encrypted"]["ok"]
        (absent,) = details(answered.document, "no-marker", "markers-absent")
        assert "tables" in str(absent.parameters["classes"]).split(", ")
        types = {verdict["transaction"] for verdict in answered.document["verdicts"]}
        assert {"read_customers", "read_line_items", "update_customers"} <= types
        self.check_rows_after(answered, checks["rows-after"])

    def check_rows_after(self, _answered: Answered, check: Mapping[str, Any]) -> None:
        assert check["ok"]

    def test_what_was_restored_is_told_and_nothing_stays(self, answered: Answered) -> None:
        facts = answered.document["settings"]["database"]
        assert {name: facts[name] for name in self.facts} == self.facts
        assert list(answered.place.twins.iterdir()) == []
