"""Runs ``tdelta`` as users do, in a process of its own, with store and twins in a folder of the test's own."""

from __future__ import annotations

import contextlib
import fcntl
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tdelta.engines.registry import profiles
from tdelta.engines.server.base import ServerBinary
from tdelta.engines.server.installed import find_servers
from tdelta.errors import EngineUnavailable
from tdelta.messages.checks import AA_CHECK
from tdelta.store import Store
from tdelta.store.export import write

SMALL = (
    *("--size", "3MB", "--trial-time", "0.03s", "--blocks", "2", "--rounds", "2..2", "--max-time", "300s"),
    "--no-bb",
)
ONCE = ("--rounds", "1..1")
"""For a run whose second round would show what the first has shown."""

ANSWERED = (0, 3)
PATIENCE_SECONDS = 60.0
SELDOM = ("--rate", "100")
"""Trials that are there to be interrupted: seconds long, as they must be, and nearly idle."""

BRIEF = {"TDELTA_EFFORT": "brief"}
"""Shortens what a run measures beside its trials (`tdelta.measure.effort`)."""

PROGRAM = "from tdelta.cli.main import main\nmain()\n"


def require(there: object, remedy: str) -> None:
    """Skip a test that lacks what it drives; fail it where nothing may be lacking."""
    if there:
        return
    if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1":
        pytest.fail(f"not installed: {remedy}")
    pytest.skip(f"not installed: {remedy}")


def private_servers() -> tuple[str, ...]:
    """The names of the servers that tdelta can start."""
    return tuple(one.name for one in profiles() if one.is_server and one.program is not None)


def server_of(kind: str) -> ServerBinary:
    try:
        return find_servers(kind)[0]
    except EngineUnavailable as error:
        require(False, str(error))
        raise


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        assert self.out, self.err
        return json.loads(self.out)

    @property
    def answer(self) -> Any:
        """The document of a run that must be answered: with figures, whatever they are, and every check fulfilled.

        So few short trials may well find identical twins apart on a noisy machine. That makes a run invalid, as it
        must, and is not what these tests are about.
        """
        document = self.document
        checks = [check for check in document.get("validity", ()) if check["state"] == "failed"]
        failed = {check["code"]: check["detail"] for check in checks if check["makes_invalid"]}
        assert self.code in ANSWERED or failed.keys() == {AA_CHECK}, (self.code, self.err, failed)
        return document


@dataclass(frozen=True)
class Place:
    base: Path

    @property
    def store(self) -> Path:
        return self.base / "data" / "tdelta" / "runs.sqlite"

    @property
    def twins(self) -> Path:
        return self.base / "cache" / "tdelta"

    def start(self, *arguments: str, program: str = PROGRAM) -> subprocess.Popen[str]:
        """Start ``tdelta`` in a process group of its own, as a terminal does."""
        return subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment(),
            cwd=self.base,
            process_group=0,
        )

    def tdelta(self, *arguments: str) -> Ran:
        return waited_for(self.start(*arguments), PATIENCE_SECONDS * 3)

    def run(self, *options: str) -> Ran:
        return self.tdelta("run", "--json", *SMALL, *options)

    def answer(self, *options: str) -> Any:
        return self.answered(*options).document

    def answered(self, *options: str) -> Answered:
        ran = self.run(*options)
        return Answered(self, ran.code, ran.answer)

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.store)) as db:
            return db.execute(sql, values).fetchall()

    def trials(self) -> list[dict[str, Any]]:
        """The exported trials of the last run, what was measured beside where they stood, levels by factor."""
        text = io.StringIO()
        with Store.open(self.store, must_exist=True) as store:
            write(store, store.resolve("last"), "json", text)
        exported = json.loads(text.getvalue())["trials"]
        return [{**trial, **trial["measurement"], **dict(trial["condition"]["levels"])} for trial in exported]

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TDELTA_")}
        return (
            kept
            | BRIEF
            | {
                "XDG_DATA_HOME": str(self.base / "data"),
                "XDG_CACHE_HOME": str(self.base / "cache"),
                "PYTHONUNBUFFERED": "1",
            }
        )


@dataclass(frozen=True)
class Answered:
    place: Place
    code: int
    document: Any


def recorded(factory: pytest.TempPathFactory, name: str, *options: str) -> Answered:
    """A small run that is made once, whichever process of the suite asks first; for tests that only read it."""
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place, kept = Place(base / name), base / f"{name}.json"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            place.base.mkdir()
            found = place.answered(*options)
            kept.write_text(json.dumps([found.code, found.document]))
    return Answered(place, *json.loads(kept.read_text()))


def workers_of(pid: int) -> list[int]:
    """The worker processes that this run started, wherever they hang in the tree now."""
    embedded = (f"tdelta.engines.{name}.worker" for name in ("sqlite", "duckdb"))
    return _running(pid, "tdelta.processes.worker", *embedded)


def schema_keepers_of(pid: int) -> list[int]:
    return _running(pid, "tdelta.engines.server.schema_keeper")


def _running(pid: int, *modules: str) -> list[int]:
    programs = {module.encode() for module in modules}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(pid).encode() in words and programs.intersection(words):
            found.append(int(folder.name))
    return found


def workers_left(pid: int) -> list[int]:
    """The workers that outlive their parent, after the kernel has had time to end them."""
    give_up = time.monotonic() + 20.0
    while (left := workers_of(pid)) and time.monotonic() < give_up:
        time.sleep(0.02)
    return left


def read_until(process: subprocess.Popen[str], start: str) -> list[str]:
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line.rstrip("\n"))
        if line.startswith(start):
            return lines
    raise AssertionError(f"no line starts with {start!r}: {lines}")


def waited_for(process: subprocess.Popen[str], seconds: float) -> Ran:
    """Its exit code and output. One that does not end in time fails its own test and no later one: it is ended here."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()  # its own clean-up, of servers too, is better than ours
        try:
            _, err = process.communicate(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            _, err = process.communicate()
        pytest.fail(f"tdelta did not end within {seconds:.0f} s; it had written: {err}")
    return Ran(process.returncode, out, err)


def end(process: subprocess.Popen[str], number: signal.Signals) -> Ran:
    process.send_signal(number)
    return waited_for(process, PATIENCE_SECONDS)
