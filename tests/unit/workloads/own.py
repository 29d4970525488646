"""Databases of users' own, in memory: built, described, and worked on by scripts, in plain Python."""

import itertools
import random
import sqlite3
from collections.abc import Mapping

from tdelta.engines.sqlite.describing import bounded, describe
from tdelta.engines.sqlite.profile import DIALECT
from tdelta.workloads.database import Database
from tdelta.workloads.keys import key_sql, key_variables
from tdelta.workloads.proposal import Proposal
from tdelta.workloads.scripts import check_script

from .rows import Runner


def query_of(connection: sqlite3.Connection):
    """The connection by which `tdelta.engines.sqlite.describing` asks."""

    def query(sql: str) -> str:
        row = connection.execute(sql).fetchone()
        return "" if row is None or row[0] is None else str(row[0])

    return query


def built(*statements: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for statement in statements:
        connection.executescript(statement)
    return connection


def described(connection: sqlite3.Connection) -> Database:
    return describe(query_of(connection))


def prepared(connection: sqlite3.Connection, database: Database, proposal: Proposal) -> dict[str, int]:
    for key in proposal.keys:
        for statement in key_sql(key, database, DIALECT):
            connection.execute(statement)
    connection.execute("VACUUM")
    query = query_of(connection)
    rebuilt = Database(tuple(bounded(query, table) for table in database.tables), database.names)
    return {**rebuilt.variables(), **key_variables(proposal.keys, rebuilt)}


class OwnRunner(Runner):
    """Runs single scripts on a user's database, as the load loop would."""

    def __init__(self, connection: sqlite3.Connection, given: Mapping[str, int]) -> None:
        self.given = {**given, "scale": 1, "client": 0}
        self.steps = {}
        self.database = connection
        self.draw = random.Random(3)
        self.ops = itertools.count(1)
        self.executed = set()
        self.rows: list[tuple[object, ...]] = []

    def once(self, text: str) -> list[tuple[object, ...]]:
        script = check_script(text, {*self.given, "op"})
        assert script.faults == ()
        self.steps["script"] = script.steps
        self.run("script")
        return self.rows

    def statement(self, name, step) -> None:
        bound = {variable: self.variables[variable] for variable in step.piece.variables}
        self.rows = self.database.execute(step.piece.text, bound).fetchall()

    def apply(self, operator: str, values: list):
        return max(values) if operator == "max" else super().apply(operator, values)
