from collections.abc import Mapping
from dataclasses import replace

import pytest

from support.refused import has, refused
from tdelta.errors import WorkloadError
from tdelta.messages import Refusal
from tdelta.processes import TrialJob
from tdelta.processes.protocol import Checksums, Tables
from tdelta.session.trying import Names, choose
from tdelta.workloads import load
from tdelta.workloads.proposal import Choice, Proposal, TransactionKind

NAMED = Names("mine", "app.db", "app.db")


class Endless:
    """Only what reads ``v`` comes to an end on it; whatever does not takes all the time that it is given."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.clock = 1000.0

    def now(self) -> float:
        return self.clock

    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> Refusal | None:
        if trial is None:
            return None
        self.seconds.append(trial.deadline_seconds + trial.patience_seconds)
        ends = str(transaction["text"]).startswith("SELECT v ")
        self.clock += 0.5 if ends else self.seconds[-1]
        said = f"{transaction['name']}, line 1: expected it to end within 30 s, and broke it off"
        return None if ends else Refusal.of("database-says", said=said)

    def checksums(self, tables: Tables) -> Checksums:
        raise NotImplementedError


def test_what_is_proposed_takes_a_tenth_of_the_runs_time_each_and_is_left_out_where_that_is_not_enough() -> None:
    on = Endless()
    scripts = {"update_t": "UPDATE t SET v = 1", "read_u": "SELECT v FROM u "}
    choices = tuple(Choice(name, name, TransactionKind.READ, name[-1], (text,)) for name, text in scripts.items())
    chosen = choose(Proposal(choices, (), ()), NAMED, on, lambda _event: None, 300.0, on.now)
    assert [transaction.name for transaction in chosen.workload.transactions] == ["read_u"]
    assert [caution.code for caution in chosen.cautions] == ["transaction-left-out"]
    assert on.seconds == [30.0, 30.0]


def test_all_that_is_proposed_takes_a_quarter_of_the_runs_time_however_much_of_it_does_not_end() -> None:
    on = Endless()
    reads = [Choice(f"read_{n}", "", TransactionKind.READ, "t", (f"SELECT v FROM t{n} ",)) for n in range(3)]
    updates = [Choice(f"update_{n}", "", TransactionKind.UPDATE, "t", ("UPDATE a", "UPDATE b")) for n in range(15)]
    chosen = choose(Proposal((*reads, *updates), (), ()), NAMED, on, lambda _event: None, 100.0, on.now)
    assert [transaction.name for transaction in chosen.workload.transactions] == ["read_0", "read_1", "read_2"]
    assert on.clock == 1000.0 + 25.0
    assert on.seconds == [10.0, 10.0, 10.0, 10.0, 10.0, 3.5]
    assert len(chosen.cautions) == len(updates)
    assert has([chosen.cautions[-1]], "transaction-left-out", fault_code="transaction-without-time")


def test_a_transaction_of_the_users_that_does_not_end_is_refused_with_its_file_and_line() -> None:
    workload = load("point-select", {})
    on = Endless()
    with refused(WorkloadError, "database-says", where="point_select.sql:1"):
        choose(workload, NAMED, on, lambda _event: None, 1e6)
    assert on.seconds == [60.0]


class Preparing:
    """A database that takes no statement with ``bad`` in it, and names the first of a script as engines do."""

    def said(self, transaction: Mapping[str, object], trial: TrialJob | None) -> Refusal | None:
        assert trial is None
        for number, line in enumerate(str(transaction["text"]).split("\n"), 1):
            if "bad" in line and not line.startswith("--"):
                said = f"{transaction['name']}, line {number}: near {line.strip()!r}: syntax error"
                return Refusal.of("database-says", said=said)
        return None

    def checksums(self, tables: Tables) -> Checksums:
        raise NotImplementedError


def test_every_statement_that_the_database_refuses_is_named_at_once() -> None:
    workload = load("point-select", {})
    (only,) = workload.transactions
    text = "-- bad\n\\set a 1\nSELECT bad1;\nSELECT 1;\nSELECT x\n  bad2 FROM t;\nSELECT 2; SELECT bad3;\n"
    text += "SELECT bad4 \\gset\n\\raw writes\nbad5\n (:a);\n\\raw into a\nSELECT a\n bad6 \\gset\nSELECT bad7;\n"
    given = replace(workload, transactions=(replace(only, text=text),))
    with pytest.raises(WorkloadError) as raised:
        choose(given, NAMED, Preparing(), lambda _event: None, 1e6)
    said = str(raised.value)
    assert [n for n in range(1, 9) if f"bad{n}" in said] == [1, 2, 3, 4, 5, 6, 7]
    assert "point_select.sql:15" in said
