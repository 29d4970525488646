"""Rows and transactions of a workload in plain Python: slow, and enough to see that its files fit each other.

The rows obey the same distributions as the generator's in Rust without being the same rows.
"""

import itertools
import random
import re
import sqlite3
from pathlib import Path

from tdelta.engines.sqlite.profile import DIALECT
from tdelta.workloads import Workload
from tdelta.workloads.expressions import Apply, Expression, Number, Variable
from tdelta.workloads.scripts import Command, Statement, check_script, given_variables

_WORDS_RS = Path(__file__).parents[3] / "crates/tdelta-core/src/data/words.rs"
WORDS = re.findall(r'"([a-z]+)"', _WORDS_RS.read_text(encoding="utf-8"))
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def value(column: dict, index: int, rows: dict[str, int], draw: random.Random):
    if draw.random() < column.get("null_share", 0):
        return None
    match column:
        case {"distribution": "serial"}:
            return index + 1
        case {"distribution": "ref", "table": table, "pick": "sequence"}:
            return index % rows[table] + 1
        case {"distribution": "ref", "table": table}:
            return draw.randint(1, rows[table])
        case {"distribution": "parent", "fanout": fanout}:
            return index // fanout + 1
        case {"distribution": "line", "fanout": fanout}:
            return index % fanout + 1
        case {"distribution": "decimal", "lo": lo, "hi": hi, "places": places}:
            return round(draw.uniform(lo, hi), places)
        case {"distribution": "words", "min": fewest, "max": most}:
            return " ".join(draw.choices(WORDS, k=draw.randint(fewest, most)))
        case {"distribution": "text", "min": fewest, "max": most}:
            return "".join(draw.choices(LETTERS + "0123456789", k=draw.randint(fewest, most)))
        case {"distribution": "pattern", "template": template}:
            return "".join(draw.choice({"#": "0123456789", "?": LETTERS}.get(c, c)) for c in template)
        case {"distribution": "choice", "values": values}:
            return draw.choices(values, column.get("weights"))[0]
        case {"distribution": "timestamp", "start": lo, "end": hi} | {"lo": lo, "hi": hi}:
            return draw.randint(lo, hi)
    raise AssertionError(f"no built-in workload uses {column}")


def loaded(workload: Workload, scale: float) -> sqlite3.Connection:
    """A plain in-memory SQLite with the workload's rows: tables, rows, then indexes."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    draw = random.Random(1)
    counts = workload.rows(scale)
    for statement in workload.tables_sql(DIALECT):
        database.execute(statement)
    database.execute("BEGIN")
    for table in workload.plan(scale)["tables"]:
        columns = table["columns"]
        made = ([value(column, i, counts, draw) for column in columns] for i in range(table["rows"]))
        names, marks = ",".join(c["name"] for c in columns), ",".join("?" * len(columns))
        database.executemany(f"INSERT INTO {table['name']} ({names}) VALUES ({marks})", made)
    database.execute("COMMIT")
    for statement in workload.indexes_sql(DIALECT):
        database.execute(statement)
    return database


class Runner:
    def __init__(self, workload: Workload, scale: float, database: sqlite3.Connection) -> None:
        rows = {f"rows_{name}": count for name, count in workload.rows(scale).items()}
        self.given = {**rows, "scale": scale, "client": 0}
        given = given_variables(workload.rows(scale))
        self.steps = {t.name: check_script(t.text, given).steps for t in workload.transactions}
        self.database = database
        self.draw = random.Random(2)
        self.ops = itertools.count(1)
        self.executed: set[tuple[str, int]] = set()

    def run(self, name: str) -> None:
        self.variables = {**self.given, "op": next(self.ops)}
        self.block(name, list(self.steps[name]))

    def block(self, name: str, steps: list) -> None:
        while steps:
            step = steps.pop(0)
            if isinstance(step, Statement):
                self.statement(name, step)
            elif step.word == "set":
                self.variables[step.name] = self.evaluate(step.expression)
            elif step.word == "connect":
                continue  # an in-memory database would be gone
            elif step.word == "repeat":
                body, _ = self.cut(steps, "repeat", "endrepeat")
                for _ in range(self.evaluate(step.expression)):
                    self.block(name, list(body))
            else:
                self.branch(name, step, steps)

    def branch(self, name: str, step: Command, steps: list) -> None:
        """An ``\\if`` with at most an ``\\else``, which is all the built-in scripts need."""
        body, _ = self.cut(steps, "if", "endif")
        otherwise = [i for i, s in enumerate(body) if isinstance(s, Command) and s.word == "else"]
        middle = otherwise[0] if otherwise else len(body)
        self.block(name, body[:middle] if self.evaluate(step.expression) else body[middle + 1 :])

    @staticmethod
    def cut(steps: list, opens: str, ends: str) -> tuple[list, Command]:
        body, depth = [], 1
        while True:
            step = steps.pop(0)
            if isinstance(step, Command):
                depth += (step.word == opens) - (step.word == ends)
            if depth == 0:
                return body, step
            body.append(step)

    def statement(self, name: str, step: Statement) -> None:
        bound = {variable: self.variables[variable] for variable in step.piece.variables}
        cursor = self.database.execute(step.piece.text, bound)
        self.executed.add((name, step.piece.line))
        rows = cursor.fetchall()
        if step.piece.gset is not None:
            (row,) = rows
            names = (f"{step.piece.gset}{column[0]}" for column in cursor.description)
            self.variables |= dict(zip(names, row, strict=True))

    def evaluate(self, expression: Expression):
        match expression:
            case Number(number):
                return number
            case Variable(name):
                return self.variables[name]
            case Apply(operator, operands):
                return self.apply(operator, [self.evaluate(operand) for operand in operands])

    def apply(self, operator: str, values: list):
        match operator, values:
            case "+", (a, b):
                return a + b
            case "-", (a, b):
                return a - b
            case "-", (a,):
                return -a
            case "*", (a, b):
                return a * b
            case "%", (a, b):
                return a % b
            case "=", (a, b):
                return a == b
            case "<", (a, b):
                return a < b
            case ">", (a, b):
                return a > b
            case "permute", (index, size):
                return index * 7919 % size
            case "random_string", (fewest, most):
                return "".join(self.draw.choices(LETTERS, k=self.draw.randint(fewest, most)))
            case (("random" | "random_zipfian" | "random_exponential"), (lo, hi, *_)):
                return self.draw.randint(lo, hi)
        raise AssertionError(f"no built-in script uses {operator}({values})")
