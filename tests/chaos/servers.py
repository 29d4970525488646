"""Servers that misbehave: each conversation ends, with a clear error and without the memory that was claimed.

From the root of the repository::

    python tests/chaos/servers.py --tries 10000

Peers that speak MySQL's and PostgreSQL's protocol (`peers`) send, at drawn moments, garbage, mutated messages, lengths
of up to 4 GB, the same without end or a byte now and then, or nothing any more; on a Unix socket and on 127.0.0.1.
Against them runs either all that a worker does on a server, or the preflight of a run on a user's servers.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar
from unittest import mock

from counting import MOST_FAILURES, Tally, asked
from hostile_peers import LIMITED, listening

from tdelta import _native
from tdelta.engines.server import pairs as reaching
from tdelta.engines.server.dsn import parse_dsn
from tdelta.engines.server.sessions import Session
from tdelta.errors import TdeltaError
from tdelta.processes.jobs import TrialJob
from tdelta.processes.workers import Refused
from tdelta.records import Metric

LONGEST_SECONDS = 60.0
"""After so long without an end a conversation hangs, and the campaign says where (``faulthandler``)."""

LIMIT_SECONDS = 0.2
MEMORY_BYTES = 256 << 20
LONGEST_MESSAGE = 3_000
PREFLIGHT_SHARE = 0.2
SCRIPT = r"""\set id random(1, 10)
SELECT id, n, name FROM t WHERE id = :id;
SELECT n AS n FROM t \gset
UPDATE t SET name = 'x' WHERE id = :id AND n = :n;
"""
PLAN = {
    "tables": [
        {
            "name": "t",
            "rows": 50,
            "columns": [
                {"name": "id", "distribution": "serial"},
                {"name": "n", "distribution": "uniform", "lo": 1, "hi": 9},
            ],
        }
    ]
}
OPTIONS = {
    "metric": Metric.RESPONSE_TIME,
    "schema": None,
    "aa_control": True,
    "bb_control": False,
    "self_test": False,
    "inject": (),
    "vary": {},
    "assume_encrypted": True,
}


Found = TypeVar("Found")


class Unclear(Exception):
    """An error that does not say anything, or too much."""


class InProcess(Session):
    """A session of the preflight in this process: a worker for each would take most of the campaign's time."""

    def __init__(self, options: Mapping[str, object], _program: str = "", _failed: object = None) -> None:
        limits = {"connect_seconds": LIMIT_SECONDS, "answer_seconds": LIMIT_SECONDS}
        self.twin = _refusing(lambda: _native.ServerTwin(json.dumps({**options, **limits}), 1))

    def run(self, sql: str) -> None:
        """As of a worker's session."""
        self.rows(sql)

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        """As of a worker's session."""
        return _refusing(lambda: self.twin.rows(sql))

    def close(self) -> None:
        """As of a worker's session."""
        self.twin.close()


def main() -> int:
    """Converse, count."""
    ask = asked(__doc__ or "", 10_000)
    tally = Tally()
    gc.disable()  # a twin may be let go of by the thread alone that made it
    with tempfile.TemporaryDirectory() as place, mock.patch.object(reaching, "Session", InProcess):
        there = _open_files()
        for number in ask.numbers:
            name = f"{ask.seed}/{number}"
            draw = random.Random(name)
            faulthandler.dump_traceback_later(LONGEST_SECONDS, exit=True)
            before = _most_memory(reset=True)
            try:
                outcome = _try(draw, Path(place), name)
                if (grown := _most_memory() - before) > MEMORY_BYTES:
                    raise Unclear(f"{grown >> 20} MiB of memory")
                tally.outcomes[outcome] += 1
            except BaseException as error:  # a panic is not an Exception
                last = "".join(traceback.format_exception(error)[-4:])
                tally.failures.append(f"try {number}: {last[:2_000]!r}")
                if isinstance(error, KeyboardInterrupt):
                    break
            faulthandler.cancel_dump_traceback_later()
            gc.collect()
            if len(tally.failures) >= MOST_FAILURES:
                break
        tally.left_over = max(0, _open_files() - there) + len(list(Path(place).iterdir()))
    return tally.report("conversations with hostile servers")


def _try(draw: random.Random, folder: Path, seed: str) -> str:
    protocol = draw.choice(("mysql", "postgres"))
    place = folder / ".s.PGSQL.5432" if draw.random() < 0.6 else None
    fault = draw.choice((0.0, 0.01, 0.03, 0.1, 0.3))
    is_preflight = draw.random() < PREFLIGHT_SHARE
    with listening(place, protocol, seed, fault) as port:
        if is_preflight:
            return f"preflight: {_preflight(protocol, place, port)}"
        return f"{protocol}: {_load(protocol, place, port)}"


def _load(protocol: str, place: Path | None, port: int) -> str:
    """All that a worker does on a server. Returns the step that was refused, or that none was."""
    where = {"socket": str(place)} if place is not None else {"host": "127.0.0.1", "port": port}
    options = {
        **where,
        "protocol": protocol,
        "user": "bench",
        "password": "secret word",
        "setup": ["SET x = 1"],
        "connect_seconds": LIMIT_SECONDS,
        "answer_seconds": LIMIT_SECONDS,
    }
    trial = TrialJob(seed=1, stream=1, operations=4, first_op=1, deadline_seconds=5.0).as_json()
    opened: list[_native.ServerTwin] = []
    steps: dict[str, Callable[[], object]] = {
        "log in": lambda: opened.append(_native.ServerTwin(json.dumps(options), 1)),
        "query": lambda: [opened[0].rows(f"{LIMITED} {n}") for n in range(3)],
        "statement": lambda: opened[0].run("SET y = 1"),
        "load": lambda: opened[0].load(json.dumps(PLAN), 1, 1, ["CREATE TABLE t (id INT, n INT)"], []),
        "checksum": lambda: opened[0].checksums([("t", ["id", "n"])]),
        "prepare": lambda: opened[0].prepare(json.dumps([{"name": "t", "weight": 1, "text": SCRIPT}]), "{}"),
        "trial": lambda: _trial(opened[0], trial),
    }
    outcome = "to its end"
    for step, act in steps.items():
        try:
            act()
        except _native.NativeError as error:
            _require_clear(error.args[1])
            outcome = f"refused at {step}"
            break
    for twin in opened:
        twin.close()
    return outcome


def _trial(twin: _native.ServerTwin, trial: Mapping[str, object]) -> None:
    if (said := twin.trial(json.dumps(trial))["outcome"]["first_error"]) is not None:
        _require_clear(said)


def _preflight(protocol: str, place: Path | None, port: int) -> str:
    engine = "mariadb" if protocol == "mysql" else "postgres"
    where = f"@/?socket={place}" if place is not None else f"@127.0.0.1:{port}/?tls=disable"
    dsn = parse_dsn(f"{engine}://bench{where}")
    try:
        with reaching.reached(OPTIONS, (dsn, dsn), "r1") as servers:
            _require_clear(*map(str, servers.cautions))
    except TdeltaError as refused:
        _require_clear(str(refused))
        return "refused"
    return "to its end"


def _require_clear(*messages: str) -> None:
    for message in messages:
        if not message.strip() or len(message) > LONGEST_MESSAGE or "\x1b" in message or "secret word" in message:
            raise Unclear(f"a message of {len(message)} characters: {message[:300]!r}")


def _refusing(act: Callable[[], Found]) -> Found:
    try:
        return act()
    except _native.NativeError as refusal:
        raise Refused(*refusal.args) from None


def _most_memory(*, reset: bool = False) -> int:
    """The most memory that this process had, bytes; from now on, if ``reset``."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


if __name__ == "__main__":
    sys.exit(main())
