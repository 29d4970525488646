"""The store: every run, and one durable row for every finished trial, in a single SQLite file.

Durability, and why it is had this way: ``synchronous=FULL`` with a rollback journal in ``TRUNCATE`` mode. When
:meth:`Store.add_trial` returns, SQLite has synced the data *and* the emptied journal (``pager_end_transaction`` in
SQLite's pager.c; in ``DELETE`` mode the folder's entry could come back after a power cut and roll the trial back). WAL
would cost fewer syncs, but it needs shared memory (which network file systems lack), leaves two more files beside the
store, and on a full disk fails at a checkpoint that belongs to no trial in particular; here the write that does not fit
is the one that fails. A trial is stored after it has ended, so these syncs are in nobody's measured time.

Limits: one writer at a time (others wait up to :data:`BUSY_SECONDS`); one connection, for the thread that opened it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tdelta import own_folders
from tdelta.errors import StorageFault, StoreError, StoreTooNew, TdeltaError, UnknownName, UsageError
from tdelta.inputs import require_regular
from tdelta.messages import Refusal
from tdelta.records import CalibrationKey, MachineCalibration, RunResult, RunSettings, Trial
from tdelta.records.kept import LAST, OfLast, RunKind
from tdelta.store.codec import T, dumps, encode, loads
from tdelta.store.rows import (
    CALIBRATION,
    FACT,
    HISTOGRAMS,
    MAPPINGS,
    MEASURED_COLUMNS,
    RUN,
    TRIAL,
    TRIAL_COLUMNS,
    delete,
    is_broken,
    put_fact,
    put_run,
    put_trial,
    seal,
    trial_of,
    unseal_fact,
)
from tdelta.store.summaries import KIND, LABELS, NOTE, RUNS_NAMED, RunStatus, RunSummary, answered, fits, some

_FULL = frozenset({"SQLITE_FULL"})
_NOT_WRITABLE = frozenset({"SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM"})
_HELD = frozenset({"SQLITE_BUSY", "SQLITE_LOCKED"})


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise about the store at ``path`` into tdelta's own exceptions.

    Raises:
        StorageFault: disk full, folder missing or not writable, input/output error.
        StoreError: another process holds the store, or it is damaged or no database at all.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(path, error) from error
    except UnicodeEncodeError as error:
        fault = "its name, or that of another file of the run, is no text"
        raise StorageFault(Refusal.of("store-unusable", path=path, fault=fault)) from error
    except (UnicodeError, OverflowError) as error:  # a table's own name, or a number, that a flipped bit made
        raise StoreError(Refusal.of("store-damaged", path=path, fault=error)) from error
    except OSError as error:
        raise StorageFault(Refusal.of("store-unusable", path=path, fault=error.strerror or error)) from error


@contextlib.contextmanager
def decoding(path: Path) -> Iterator[None]:
    """Say of which store it is that something in it cannot be read.

    Raises:
        StoreError: what is there is not what any version wrote.
    """
    try:
        yield
    except StoreError as error:
        raise StoreError(Refusal.of("store-unusable", path=path, fault=error)) from error
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise StoreError(Refusal.of("store-damaged", path=path, fault=f"{type(error).__name__}: {error}")) from error


def changed(path: Path, part: str) -> StoreError:
    """Say that what is there is not what was written."""
    return StoreError(Refusal.of("store-changed", path=path, part=part))


def too_new(path: Path, found: int, known: int) -> StoreTooNew:
    return StoreTooNew(Refusal.of("store-too-new", path=path, known=known, found=found))


def not_a_store(path: Path, found: str) -> StoreError:
    return StoreError(Refusal.of("not-a-store", path=path, found=found))


def _from_sqlite(path: Path, error: sqlite3.Error) -> TdeltaError:
    name: str = getattr(error, "sqlite_errorname", "")
    primary = "_".join(name.split("_")[:2])  # SQLITE_IOERR_WRITE is an SQLITE_IOERR
    if primary in _FULL:
        return StorageFault(Refusal.of("store-disk-full", path=path, fault=error))
    if primary in _NOT_WRITABLE:
        return StorageFault(Refusal.of("store-unusable", path=path, fault=f"not writable ({error})"))
    if primary in _HELD:
        return StoreError(Refusal.of("store-unusable", path=path, fault=f"another process uses it ({error})"))
    if primary == "SQLITE_NOTADB":
        return not_a_store(path, "a file that is not an SQLite database")
    return StoreError(Refusal.of("store-unusable", path=path, fault=f"{error} ({name or type(error).__name__})"))


def default_path() -> Path:
    """Where the store is: ``TDELTA_STORE``, else ``tdelta/runs.sqlite`` in the XDG data folder.

    A relative ``XDG_DATA_HOME`` is ignored, as the XDG Base Directory Specification asks.
    """
    if named := os.environ.get("TDELTA_STORE"):
        return Path(named)
    data_home = Path(os.environ.get("XDG_DATA_HOME", ""))
    if not data_home.is_absolute():
        data_home = Path.home() / ".local" / "share"
    return data_home / "tdelta" / "runs.sqlite"


def make_private(path: Path) -> None:
    """Make the store's file and folder where they are missing, for their owner only; SQLite's journal is as the file.

    One that is there already keeps its rights.
    """
    own_folders.ensure(path.parent)
    with contextlib.suppress(OSError):  # it is there, or SQLite says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


APPLICATION_ID = int.from_bytes(b"tdlt", "big")
"""Marks the file as tdelta's own, so that ``file`` and we ourselves can tell it from other databases."""

SCHEMA_VERSION = 1
"""The version of ``schema.sql``, kept in ``PRAGMA user_version``."""

BUSY_SECONDS = 30.0
"""How long to wait for another tdelta that is writing to the same store."""

NO_FACTS: Mapping[str, object] = MappingProxyType({})

_LETTERS = "bcdfghjkmnpqrstvwxz"  # neither vowels (no words) nor l (no mistaken 1)


class Store:
    """An open store. Make one with :meth:`open`; use it as a context manager.

    Any method may raise ``StorageFault`` (disk full, not writable) or ``StoreError`` (held by another process, or
    damaged).
    """

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db

    @classmethod
    def open(cls, path: Path | None = None, *, must_exist: bool = False) -> Store:
        """Open the store at ``path`` (default: :func:`default_path`), making file and folder where they are missing.

        Args:
            must_exist: for those who only read: make nothing.

        Raises:
            UsageError: it must exist and does not.
            StorageFault: the folder or file cannot be made or opened.
            StoreTooNew: a newer tdelta wrote it.
            StoreError: it is not a store of tdelta's, or damaged.
        """
        where = default_path() if path is None else path
        if must_exist and not where.exists():
            raise UsageError(Refusal.of("no-run", store=str(where)))
        with store_errors(where):
            make_private(where)
            with contextlib.suppress(FileNotFoundError):  # it could not be made: SQLite says what is wrong
                require_regular(where)
            db = sqlite3.connect(where, timeout=BUSY_SECONDS, isolation_level=None)
        store = cls(where, db)
        try:
            store._prepare()
        except BaseException:
            db.close()
            raise
        return store

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fresh_run_id(self) -> str:
        """Draw a run id this store does not have, e.g. ``20260802-kqmt``: the local date and four letters.

        Not drawn from the run's seed: the same seed may be run again.
        """
        taken = set(self._run_ids())
        while True:
            run_id = f"{time.strftime('%Y%m%d')}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"
            if run_id not in taken:
                return run_id

    def create_run(
        self,
        settings: RunSettings,
        machine: Mapping[str, object],
        versions: Mapping[str, str],
        facts: Mapping[str, object] = NO_FACTS,
    ) -> None:
        """Enter a run as ``planned``, under ``settings.run_id``, with the facts that it has from its beginning."""
        with self._transaction() as db:
            put_run(db, settings, time.time(), machine, versions)
            for key, value in facts.items():
                put_fact(db, settings.run_id, key, value)
            seal(db, RUN, settings.run_id)

    def forget(self, run_id: str) -> None:
        """Remove a run that has no trials, with its facts; one that has some stays."""
        with self._transaction() as db:
            if not db.execute("SELECT 1 FROM trials WHERE run_id = ?", (run_id,)).fetchone():
                delete(db, run_id)

    def set_status(self, run_id: str, status: RunStatus) -> None:
        """Say where a run stands. Raises ``UnknownName`` for an id the store does not have."""
        self._update(run_id, "status = ?", (RunStatus(status).value,))

    def add_trial(self, run_id: str, trial: Trial) -> None:
        """Add a finished trial with its histograms; it is on disk when this returns, or not in the store at all.

        Raises:
            StorageFault: there is no room for it, or the store is not writable.
            StoreError: the run is unknown, or has a trial at this place of this block (or of this condition) already.
        """
        with self._transaction() as db:
            put_trial(db, run_id, trial)
            seal(db, RUN, run_id)

    def trials(self, run_id: str, *, histograms: bool = True) -> tuple[Trial, ...]:
        """All trials of a run, as :meth:`iter_trials` gives them."""
        return tuple(self.iter_trials(run_id, histograms=histograms))

    def iter_trials(self, run_id: str, *, histograms: bool = True) -> Iterator[Trial]:
        """Read a run's trials one by one, by block and position; equal to what was added.

        Holds no lock between trials, so a long export does not stall a run that is writing.

        Args:
            run_id: the whole id of the run.
            histograms: False leaves them out, which are nearly all of the bytes.
        """
        self._cell(run_id, "run_id")
        # Not by the index: a damaged one may lack some of them, and the run's seal counts the rows of the table.
        ids = self._query("SELECT trial FROM trials NOT INDEXED WHERE run_id = ? ORDER BY block, position", (run_id,))
        return (self._trial(trial, histograms=histograms) for (trial,) in ids)

    def finish(self, run_id: str, result: RunResult) -> None:
        """Store a run's result and set its status to ``done``, or ``interrupted`` where the result says so."""
        status = RunStatus.INTERRUPTED if result.interrupted else RunStatus.DONE
        self._update(run_id, "status = ?, result = ?", (status.value, dumps(result)))

    def result(self, run_id: str) -> RunResult:
        text = self._cell(run_id, "result")
        if text is None:
            status = self.status(run_id)
            raise StoreError(Refusal.of("run-without-result", run=run_id, status=status, store=self._named))
        with decoding(self.path):
            return loads(RunResult, text)

    @property
    def _named(self) -> str:
        """The option by which a command comes back to this store; nothing where it is the default one."""
        return "" if self.path == default_path() else f" --store {shlex.quote(str(self.path))}"

    def settings(self, run_id: str) -> RunSettings:
        """The settings of a run. Raises ``UnknownName`` for an id the store does not have."""
        found = self._decoded(run_id, "settings", partial(loads, RunSettings))
        if found.run_id != run_id:  # an id that was edited has no seal
            raise changed(self.path, f"{RUN} {run_id}")
        return found

    def status(self, run_id: str) -> RunStatus:
        """Where a run stands. Raises ``UnknownName`` for an id the store does not have."""
        return self._decoded(run_id, "status", RunStatus)

    def machine(self, run_id: str) -> dict[str, object]:
        """The facts of the machine a run was made on. Raises ``UnknownName`` for an id the store does not have."""
        return self._decoded(run_id, "machine", lambda text: dict(json.loads(text)))

    def versions(self, run_id: str) -> dict[str, str]:
        """The versions of the libraries of a run. Raises ``UnknownName`` for an id the store does not have."""
        return self._decoded(run_id, "versions", lambda text: {name: str(of) for name, of in json.loads(text).items()})

    def put_fact(self, run_id: str, key: str, value: object) -> None:
        """Store a fact of a run, any JSON value or record, in place of what was there under ``key``."""
        with self._transaction() as db:
            put_fact(db, run_id, key, value)
            seal(db, RUN, run_id)

    def drop_fact(self, run_id: str, key: str) -> None:
        """Remove a fact of a run; one that is not there is gone already."""
        with self._transaction() as db:
            db.execute("DELETE FROM run_facts WHERE run_id = ? AND key = ?", (run_id, key))
            unseal_fact(db, run_id, key)
            seal(db, RUN, run_id)

    def get_fact(self, run_id: str, key: str) -> Any:
        """The JSON value of a fact (records come back as their JSON), or None where there is none."""
        rows = self._query("SELECT value FROM run_facts WHERE run_id = ? AND key = ?", (run_id, key))
        self._require(FACT, run_id, key)
        with decoding(self.path):
            return json.loads(rows[0][0]) if rows else None

    def facts(self, run_id: str) -> dict[str, Any]:
        return {key: value for _, key, value in self._facts("run_id", run_id)}

    def facts_named(self, key: str) -> dict[str, Any]:
        """A fact of all runs that have it, by their ids."""
        return {run_id: value for run_id, _, value in self._facts("key", key)}

    def _facts(self, column: str, value: str) -> list[tuple[str, str, Any]]:
        rows = self._query(f"SELECT run_id, key, value FROM run_facts WHERE {column} = ? ORDER BY key", (value,))
        for run_id, key, _ in rows:
            self._require(FACT, run_id, key)
        with decoding(self.path):
            return [(run_id, key, json.loads(text)) for run_id, key, text in rows]

    def run_ids(self) -> tuple[str, ...]:
        return tuple(self._run_ids())

    def require(self, run_id: str) -> None:
        """Raise ``UnknownName`` for an id the store does not have."""
        if run_id not in self._run_ids():
            raise self._unknown(run_id)

    def runs(self) -> tuple[RunSummary, ...]:
        return tuple(map(self.summary, self._run_ids()))

    def summary(self, run_id: str) -> RunSummary:
        """One line of the list of runs. Raises ``UnknownName`` for an id the store does not have."""
        settings = self.settings(run_id)
        columns = "created_unix_seconds, result, (SELECT count(*) FROM trials WHERE trials.run_id = runs.run_id)"
        ((created, result, trials),) = self._query(f"SELECT {columns} FROM runs WHERE run_id = ?", (run_id,))
        facts = {key: self.get_fact(run_id, key) for key in (KIND, LABELS, NOTE)}
        with decoding(self.path):
            decision, overheads, metric = answered(result)
            return RunSummary(
                run_id=run_id,
                created_unix_seconds=float(created),
                status=self.status(run_id),
                study=settings.study,
                engine=settings.engine,
                workload=settings.workload,
                trials=trials,
                decision=decision,
                overheads=overheads,
                kind=RunKind(facts[KIND] or RunKind.RUN),
                labels=tuple(map(str, facts[LABELS] or ())),
                note=str(facts[NOTE] or ""),
                metric=metric,
            )

    def kinds(self) -> dict[str, RunKind]:
        """The purpose of each run that nobody requested by itself, by its id."""
        with decoding(self.path):
            return {run_id: RunKind(kind) for run_id, kind in self.facts_named(KIND).items()}

    def resolve(self, text: str, of_last: OfLast = OfLast.FINISHED) -> str:
        """Find the run that a user means.

        Args:
            text: ``last`` (the newest run with a result that is no pilot, no part of a calibration and not imported),
                a run's id, a label that one run has, or the beginning of an id or of the letters after its date.
            of_last: what ``last`` is the newest run of instead: any run, or one that can be resumed.

        Raises:
            UnknownName: no run fits; names the newest ones.
            UsageError: several fit, or the store holds no run yet.
        """
        newest_first = self._run_ids()
        if not newest_first:
            raise UsageError(Refusal.of("no-run", store=str(self.path)))
        if text == LAST:
            return self._last(newest_first, of_last)
        if text in newest_first:
            return text
        labelled = {run_id for run_id, labels in self.facts_named(LABELS).items() if text in labels}
        own = labelled - {run_id for run_id, kind in self.kinds().items() if kind is RunKind.IMPORTED}
        fitting = [run_id for run_id in newest_first if run_id in (own or labelled)]
        fitting = fitting or [run_id for run_id in newest_first if text and fits(text, run_id)]
        if len(fitting) > 1:
            raise UsageError(Refusal.of("ambiguous-run", run=text, fitting=some(fitting)))
        if not fitting:
            raise self._unknown(text)
        return fitting[0]

    def _run_ids(self) -> list[str]:
        found = [run_id for (run_id,) in self._query("SELECT run_id FROM runs ORDER BY number DESC")]
        # Ids of a damaged page may contain anything, even a terminal's commands.
        if wrong := [run_id for run_id in found if not (isinstance(run_id, str) and run_id.isprintable())]:
            raise changed(self.path, f"{RUN} {wrong[0]!r}")
        return found

    def _last(self, newest_first: list[str], of_last: OfLast) -> str:
        """The newest of these among the runs that were asked for by themselves; without any, the newest run."""
        others = self.kinds()
        own = [run_id for run_id in newest_first if run_id not in others]
        if not own:
            raise UsageError(Refusal.of("no-last-run", store=str(self.path), others=len(newest_first)))
        where = {
            OfLast.ANY: "TRUE",
            OfLast.FINISHED: "result IS NOT NULL",
            OfLast.UNFINISHED: f"status <> '{RunStatus.DONE}'",
        }
        fitting = {run_id for (run_id,) in self._query(f"SELECT run_id FROM runs WHERE {where[of_last]}")}
        return next((run_id for run_id in own if run_id in fitting), own[0])

    def _prepare(self) -> None:
        with store_errors(self.path):
            for pragma in ("foreign_keys = ON", "journal_mode = TRUNCATE", "synchronous = FULL"):
                self._db.execute(f"PRAGMA {pragma}")
            if self._is_empty():
                self._make()

    def _is_empty(self) -> bool:
        """Whether the file is still to be made a store; raises where it is someone else's or too new."""
        application_id = self._pragma("application_id")
        if application_id == APPLICATION_ID:
            if (found := self._pragma("user_version")) > SCHEMA_VERSION:
                raise too_new(self.path, found, SCHEMA_VERSION)
            if found < 1:
                raise not_a_store(self.path, f"schema version {found}")
            return False
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application_id or tables:
            raise not_a_store(self.path, "another program's SQLite database")
        return True

    def _make(self) -> None:
        """Make the tables, all or nothing, unless another tdelta has made them meanwhile."""
        script = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
        measured = ", ".join(f"{name} {definition}" for name, definition in MEASURED_COLUMNS.items())
        with self._transaction() as db:
            if self._is_empty():
                for statement in script.replace("{measured}", measured).split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _pragma(self, name: str) -> int:
        (value,) = self._db.execute(f"PRAGMA {name}").fetchone()
        return int(value)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with store_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                self._db.rollback()
                raise

    def _query(self, sql: str, parameters: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        with store_errors(self.path):
            return self._db.execute(sql, parameters).fetchall()

    def _require(self, kind: str, *key: object) -> None:
        """Raise `StoreError` where what is there is not what was written."""
        with store_errors(self.path):
            self._db.execute("BEGIN")
            try:
                broken = is_broken(self._db, kind, *key)
            finally:
                self._db.rollback()
        if broken:
            raise changed(self.path, " ".join((kind, *map(str, key))))

    def _cell(self, run_id: str, column: str) -> Any:
        rows = self._query(f"SELECT {column} FROM runs WHERE run_id = ?", (run_id,))
        if not rows:
            raise self._unknown(run_id)
        self._require(RUN, run_id)
        return rows[0][0]

    def _decoded(self, run_id: str, column: str, read: Callable[[str], T]) -> T:
        text = self._cell(run_id, column)
        with decoding(self.path):
            return read(text)

    def _update(self, run_id: str, assignments: str, values: tuple[object, ...]) -> None:
        with self._transaction() as db:
            found = db.execute(f"UPDATE runs SET {assignments} WHERE run_id = ?", (*values, run_id)).rowcount
            seal(db, RUN, run_id)
        if not found:
            raise self._unknown(run_id)

    def _unknown(self, run_id: str) -> UnknownName:
        return UnknownName("run", run_id, [*self._run_ids()[:RUNS_NAMED], "last"])

    def _trial(self, trial: int, *, histograms: bool) -> Trial:
        rows = self._query(f"SELECT {', '.join(TRIAL_COLUMNS)} FROM trials WHERE trial = ?", (trial,))
        if not rows:
            raise changed(self.path, f"{TRIAL} {trial}")
        named = self._query("SELECT name, payload FROM histograms WHERE trial = ?", (trial,)) if histograms else []
        self._require(TRIAL, trial)
        if histograms:
            self._require(HISTOGRAMS, trial)
        with decoding(self.path):
            return trial_of(rows[0], dict(named))


_TRIAL_TEXTS = " + ".join(f"length({name})" for name in ("condition", *sorted(MAPPINGS & MEASURED_COLUMNS.keys())))
_SIZES = f"""
SELECT run_id, sum(bytes) FROM (
    SELECT run_id, length(settings) + length(machine) + length(versions) + coalesce(length(result), 0) AS bytes
    FROM runs
    UNION ALL SELECT run_id, length(value) FROM run_facts
    UNION ALL SELECT run_id, {_TRIAL_TEXTS} FROM trials
    UNION ALL SELECT run_id, length(name) + length(payload) FROM histograms JOIN trials USING (trial)
) GROUP BY run_id
"""


def sizes_bytes(store: Store) -> dict[str, int]:
    """About how many bytes of the store each run takes, by its id: texts and histograms, without what SQLite adds."""
    return {run_id: int(size or 0) for run_id, size in store._query(_SIZES)}


def remove_runs(store: Store, run_ids: Sequence[str]) -> None:
    """Remove runs with their trials, histograms, facts and seals; all of them or none.

    Calibrations stay, whose runs these may have been.
    """
    for run_id in run_ids:
        store.require(run_id)
    with store._transaction() as db:
        for run_id in run_ids:
            delete(db, run_id)


def compact(store: Store) -> bool:
    """Give the room of what was removed back to the file system. Returns whether it could be.

    It cannot, and nothing is lost by it, where the disk has no room for a copy of the store or another process is
    writing to it; what comes next then goes where the removed was.
    """
    try:
        with store_errors(store.path):
            store._db.execute("VACUUM")
    except (StorageFault, StoreError):
        return False
    return True


def key_digest(key: CalibrationKey) -> str:
    """A digest of all that a run must have in common with a calibration, whatever the order of its mappings."""
    return hashlib.sha256(json.dumps(encode(key), sort_keys=True).encode()).hexdigest()


def fresh_calibration_id(store: Store) -> str:
    """Draw an id that this store does not have, e.g. ``cal-20261122-kqmt``: the local date and four letters."""
    taken = {found for (found,) in store._query("SELECT calibration_id FROM calibrations")}
    while (drawn := f"cal-{store.fresh_run_id()}") in taken:
        continue
    return drawn


def add_calibration(store: Store, calibration: MachineCalibration) -> None:
    key = calibration.key
    cells = (calibration.calibration_id, calibration.created_unix_seconds, key.engine, key.workload)
    with store._transaction() as db:
        db.execute(
            "INSERT INTO calibrations (calibration_id, created_unix_seconds, engine, workload, key, calibration)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (*cells, key_digest(key), dumps(calibration)),
        )
        seal(db, CALIBRATION, calibration.calibration_id)


def newest_calibration(store: Store, key: CalibrationKey, *, since_unix_seconds: float) -> MachineCalibration | None:
    """The newest calibration that has all of this in common and was made since then; None where there is none."""
    rows = store._query(
        "SELECT calibration_id, calibration FROM calibrations WHERE key = ? AND created_unix_seconds >= ?"
        " ORDER BY number DESC LIMIT 1",
        (key_digest(key), since_unix_seconds),
    )
    if not rows:
        return None
    found, text = rows[0]
    store._require(CALIBRATION, found)
    with decoding(store.path):
        return loads(MachineCalibration, text)
