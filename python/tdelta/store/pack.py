"""One run as one file, to be handed on: JSON lines under gzip, the last of which is a digest of all before it.

A pack is read, never run: it is text that the codec turns into records or refuses, and what comes out of it goes into a
store as a run of this machine's would, sealed anew. It names no file that is written, and nothing in it is a path that
is opened. `LIMITS` keep its reading within memory, whatever it claims to hold.

The digest shows damage. It does not show who made the pack: whoever changes it can write the digest that fits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from tdelta import __version__
from tdelta.errors import StorageFault, StoreError, UsageError
from tdelta.inputs import opened as opened_file
from tdelta.inputs import out_of_range, real_path, size_words, too_large, unexpected
from tdelta.messages import Refusal
from tdelta.records import RunResult, RunSettings, Trial
from tdelta.records.kept import RunKind
from tdelta.store.codec import decode, dumps, encode
from tdelta.store.export import replacing_bytes
from tdelta.store.rows import RUN, put_fact, put_run, put_trial, seal
from tdelta.store.store import Store
from tdelta.store.summaries import KIND, LABELS, NOTE, RunStatus, checked_labels, checked_note


@dataclass(frozen=True, slots=True)
class Whole:
    """A run that has its answer; ``facts`` are what its owner says of it, and of what kind it is."""

    settings: RunSettings
    created_unix_seconds: float
    machine: Mapping[str, object]
    versions: Mapping[str, str]
    result: RunResult
    facts: Mapping[str, object]


def whole(store: Store, run_id: str) -> Whole:
    """A run of a store, with its labels and its note."""
    summary = store.summary(run_id)
    facts = {LABELS: list(summary.labels)} if summary.labels else {}
    return Whole(
        settings=store.settings(run_id),
        created_unix_seconds=summary.created_unix_seconds,
        machine=store.machine(run_id),
        versions=store.versions(run_id),
        result=store.result(run_id),
        facts={**facts, **({NOTE: summary.note} if summary.note else {})},
    )


def take_in(store: Store, run: Whole, trials: Iterable[Trial]) -> None:
    """Put a run into a store, all of it or nothing."""
    run_id = run.settings.run_id
    status = RunStatus.INTERRUPTED if run.result.interrupted else RunStatus.DONE
    with store._transaction() as db:
        put_run(db, run.settings, run.created_unix_seconds, run.machine, run.versions)
        for key, value in run.facts.items():
            put_fact(db, run_id, key, value)
        for trial in trials:
            put_trial(db, run_id, trial)
        db.execute("UPDATE runs SET status = ?, result = ? WHERE run_id = ?", (status, dumps(run.result), run_id))
        seal(db, RUN, run_id)


def adopt(store: Store, opened: Store, run_id: str) -> None:
    """Put the run of a pack into a store as one that was opened; the same run is there once, whoever made it."""
    run = whole(opened, run_id)
    if run_id not in store.run_ids():
        marked = dataclasses.replace(run, facts={**run.facts, KIND: RunKind.IMPORTED})
        take_in(store, marked, opened.iter_trials(run_id))
    elif not _is_same(whole(store, run_id), run):
        raise UsageError(Refusal.of("pack-of-other-run", run=run_id, store=str(store.path)))


def _is_same(one: Whole, other: Whole) -> bool:
    """Whether they have the same settings and the same answer, whatever their labels."""
    return (dumps(one.settings), dumps(one.result)) == (dumps(other.settings), dumps(other.result))


T = TypeVar("T")

FORMAT = "tdelta.pack"
VERSION = 1
SUFFIX = ".tdelta"
_FILE, _A_PACK = "the export file", "an export file of `tdelta pack`"
_BEGINNING = f'{{"schema":"{FORMAT}/'.encode()
_RUN_ID = re.compile(r"20\d{6}-[0-9a-z][0-9a-z-]{0,23}")
"""As stores draw them: a word such as ``last`` or ``all`` would stand for other runs in commands."""

_OF_HEADER = ("schema", "tdelta", "run_id", "created_unix_seconds", "labels", "note", "machine", "versions", "settings")
_MOVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move a terminal's cursor or turn a line around, or are no text at all."""

_PRIVATE = 0o600
_SEPARATORS = (b",", b"[", b"{")
_LONGEST_NS = 10**16
_MOST = 1 << 62
_LARGEST = 1 << 64
_LATEST = 1e11  # no date that Python cannot write
_DEEPEST = 60
_LONGEST_SAID = 300
_FAULTS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, EOFError, zlib.error)


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a pack may be: the file, its text, one line of it and the values in that, and how many trials."""

    file_bytes: int = 1 << 29
    text_bytes: int = 1 << 31
    line_bytes: int = 1 << 26
    line_values: int = 1_000_000
    trials: int = 1_000_000


LIMITS = Limits()


class _Damaged(ValueError):
    def __init__(self, said: Refusal) -> None:
        self.said = said
        super().__init__(said)

    @classmethod
    def otherwise(cls, expected: str, found: object) -> _Damaged:
        return cls(unexpected(expected, str(found)[:_LONGEST_SAID]))


def is_pack_name(text: str) -> bool:
    """Whether a RUN on the command line is the file of a pack, and not the name of a run."""
    return text.endswith(SUFFIX) or ("/" in text and Path(text).is_file())


def is_beginning(head: bytes) -> bool:
    return head.startswith(_BEGINNING)


def is_pack(path: Path) -> bool:
    """Whether this is a pack, by its beginning.

    Raises:
        OSError: it is not a regular file, or cannot be read.
    """
    with opened_file(path) as file, gzip.GzipFile(fileobj=file) as packed:
        try:
            return is_beginning(packed.read(len(_BEGINNING)))
        except (OSError, EOFError, zlib.error):
            return False


def write_pack(store: Store, run_id: str, path: Path, *, force: bool = False) -> str:
    """Write a run with its trials to a file, beside it first and then renamed. Returns the digest.

    The same run makes the same text. Labels and the note go with it; what only a resumption needs does not.

    Args:
        run_id: the whole id of the run.

    Raises:
        UnknownName: the store has no such run.
        StoreError: the run has no result yet.
        UsageError: something is there that is no pack, and ``force`` is not given.
        StorageFault: the file cannot be written.
    """
    run = whole(store, run_id)
    digest = hashlib.sha256()
    try:
        if path.exists() and not force and not is_pack(path):
            raise UsageError(Refusal.of("file-exists", path=str(path)))
        with (
            replacing_bytes(real_path(path), _PRIVATE) as out,
            gzip.GzipFile(filename="", fileobj=out, mode="wb", mtime=0) as packed,
        ):
            for line in _lines_of(run, store):
                packed.write(line)
                digest.update(line)
            packed.write(_line({"digest": digest.hexdigest()}))
    except OSError as error:
        raise StorageFault(Refusal.of("path-unusable", path=path, fault=error.strerror or error)) from error
    return digest.hexdigest()


def _lines_of(run: Whole, store: Store) -> Iterator[bytes]:
    yield _line(
        {
            "schema": f"{FORMAT}/{VERSION}",
            "tdelta": __version__,
            "run_id": run.settings.run_id,
            "created_unix_seconds": run.created_unix_seconds,
            "labels": run.facts.get(LABELS, []),
            "note": run.facts.get(NOTE, ""),
            "machine": run.machine,
            "versions": run.versions,
            "settings": encode(run.settings),
            "result": encode(run.result),
        }
    )
    for trial in store.iter_trials(run.settings.run_id):
        yield _line({"trial": encode(trial)})


def _line(values: object) -> bytes:
    return f"{json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n".encode()


@contextlib.contextmanager
def unpacked(path: Path, limits: Limits = LIMITS) -> Iterator[tuple[Store, str]]:
    """A store that holds the run of a pack and nothing else, for as long as the block lasts, and the run's id.

    It is a private temporary database of SQLite's, whose file has no name. What the block makes of values that no run
    has, such as a division by 0, is a fault of the pack.

    Raises:
        StoreError: the file is not a pack, or not what tdelta wrote.
        UsageError: it cannot be opened.
    """
    with contextlib.closing(sqlite3.connect("", isolation_level=None)) as db:
        store = Store(path, db)
        store._prepare()
        with saying(f"pack {path}"), _read(path, limits) as file:
            _require_digest(file, limits)
            lines = _lines(file, limits)
            run = _headed(next(lines))
            take_in(store, run, _trials(lines, run, limits))
        with saying(f"pack {path}"):
            yield store, run.settings.run_id


@contextlib.contextmanager
def saying(what: str) -> Iterator[None]:
    """Turn what values that no run has lead to into an error that names the pack, or the run that came out of one.

    Raises:
        StoreError: such a value.
    """
    try:
        yield
    except _Damaged as error:
        raise StoreError(error.said.at(what)) from error
    except StoreError as error:
        raise StoreError(*(_shown(refusal, what) for refusal in error.refusals)) from error
    except _FAULTS as error:
        said = Refusal.of("pack-damaged", fault=f"{type(error).__name__}: {_plain_text(str(error))[:_LONGEST_SAID]}")
        raise StoreError(said.at(what)) from error


def _shown(refusal: Refusal, what: str) -> Refusal:
    said = refusal.parameters.get("fault") if refusal.code.startswith("store-") else None  # no store's remedy helps
    return Refusal.of("pack-damaged", fault=_plain_text(str(said or refusal.text))[:_LONGEST_SAID]).at(what)


@contextlib.contextmanager
def _read(path: Path, limits: Limits) -> Iterator[IO[bytes]]:
    try:
        with opened_file(path) as file:
            size = file.seek(0, 2)
            file.seek(0)
            if size > limits.file_bytes:
                raise _Damaged(too_large(_FILE, size_words(limits.file_bytes)))
            yield file
    except EOFError as error:
        raise _Damaged(Refusal.of("pack-damaged", fault="it ends before its digest")) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise _Damaged.otherwise(_A_PACK, f"another file ({error})") from error
    except OSError as error:
        raise UsageError(Refusal.of("path-unusable", path=str(path), fault=error.strerror or error)) from error


def _raw_lines(file: IO[bytes], limits: Limits) -> Iterator[bytes]:
    """The lines of the pack, each whole, within the limits."""
    file.seek(0)
    left = limits.text_bytes
    with gzip.GzipFile(fileobj=file) as packed:
        while line := packed.readline(limits.line_bytes + 1):
            left -= len(line)
            if len(line) > limits.line_bytes or left < 0:
                raise _Damaged(too_large(_FILE, size_words(limits.text_bytes if left < 0 else limits.line_bytes)))
            # Each becomes an object of Python's; commas of texts are counted with them.
            if sum(map(line.count, _SEPARATORS)) > limits.line_values:
                raise _Damaged(too_large(_FILE, f"{limits.line_values} values a line"))
            if not line.endswith(b"\n"):
                raise _Damaged(Refusal.of("pack-damaged", fault="it ends before its digest"))
            yield line


def _require_digest(file: IO[bytes], limits: Limits) -> None:
    """See that the last line is the digest of those before it."""
    digest, last = hashlib.sha256(), b""
    for number, line in enumerate(_raw_lines(file, limits)):
        if number == 0 and not is_beginning(line):
            raise _Damaged.otherwise(_A_PACK, "another file (its first line is not that of a pack)")
        digest.update(last)
        last = line
    if not last.startswith(b'{"digest":'):
        raise _Damaged(Refusal.of("pack-damaged", fault="it ends before its digest"))
    if last != _line({"digest": digest.hexdigest()}):
        raise _Damaged(Refusal.of("pack-damaged", fault="its digest does not match"))


def _lines(file: IO[bytes], limits: Limits) -> Iterator[dict[str, Any]]:
    """The objects of all lines but the last one, without what would move a terminal's cursor."""
    before = b""
    for line in _raw_lines(file, limits):
        if before:
            yield _object(before)
        before = line


def _object(line: bytes) -> dict[str, Any]:
    found = _plain(json.loads(line.decode("utf-8"), parse_constant=_no_constant), 0)
    if not isinstance(found, dict):
        raise _Damaged.otherwise("an object", type(found).__name__)
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _plain(value: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise _Damaged.otherwise(f"at most {_DEEPEST} levels", "more")
    match value:
        case str():
            return _plain_text(value)
        case list():
            return [_plain(one, depth + 1) for one in value]
        case dict():
            return {_plain_text(key): _plain(one, depth + 1) for key, one in value.items()}
        case int() | float() if not -_LARGEST <= value <= _LARGEST:
            raise _Damaged.otherwise("finite numbers", "one that is too large")
    return value


def _plain_text(text: str) -> str:
    return _MOVING.sub("\N{REPLACEMENT CHARACTER}", text)


def _headed(header: dict[str, Any]) -> Whole:
    if unknown := header.keys() - {*_OF_HEADER, "result"}:
        raise _Damaged.otherwise("the fields of a run", ", ".join(sorted(unknown)))
    schema = _of(header, "schema", str)
    if schema != f"{FORMAT}/{VERSION}":
        wanted = f"{FORMAT}/{VERSION} (upgrade tdelta)"
        raise _Damaged(out_of_range("the version of the export file", wanted, schema[:_LONGEST_SAID]))
    run_id = _of(header, "run_id", str)
    settings = decode(RunSettings, header.get("settings"))
    result = decode(RunResult, header.get("result"))
    if not _RUN_ID.fullmatch(run_id) or {settings.run_id, result.settings.run_id} != {run_id}:
        raise _Damaged.otherwise("one id of a run", repr(run_id))
    labels, note = decode(tuple[str, ...], header.get("labels")), _of(header, "note", str)
    facts: dict[str, object] = {KIND: RunKind.IMPORTED}
    try:
        facts |= {LABELS: list(checked_labels(labels))} if labels else {}
        facts |= {NOTE: checked_note(note)} if note else {}
    except UsageError as error:
        raise _Damaged(error.refusals[0]) from error
    return Whole(
        settings=settings,
        created_unix_seconds=_date(header),
        machine=_of(header, "machine", dict),
        versions=decode(dict[str, str], header.get("versions")),
        result=result,
        facts=facts,
    )


def _trials(lines: Iterator[dict[str, Any]], run: Whole, limits: Limits) -> Iterator[Trial]:
    known, number = {condition.key for condition in run.settings.conditions}, -1
    for number, line in enumerate(lines):
        if line.keys() != {"trial"}:
            raise _Damaged.otherwise("a trial", ", ".join(line))
        if number >= limits.trials:
            raise _Damaged(too_large(_FILE, f"{limits.trials} trials"))
        trial = decode(Trial, line["trial"])
        if trial.condition.key not in known or not _is_possible(trial):
            raise _Damaged.otherwise("a possible trial", f"trial {number + 1} of {trial.condition.key}")
        yield trial
    least = run.result.counts.trials or len(run.result.verdicts[:1])
    if number + 1 < least:
        raise _Damaged.otherwise(f"{least} trials", number + 1)


def _is_possible(trial: Trial) -> bool:
    """Whether a clock and counters can give what a trial has; NaN and what is infinite they cannot."""
    measured = trial.measurement
    spans = [*measured.transactions.values(), *measured.statements.values()]
    counted: list[float] = [measured.operations, measured.total_operations]
    counted += [number for one in spans for number in (one.count, one.total_ns)]
    counted += [measured.usage.cpu_user_seconds, measured.usage.cpu_system_seconds, trial.started_unix_seconds]
    has_work = measured.operations > 0 or not any(one.count for one in measured.transactions.values())
    return has_work and 0 < measured.elapsed_ns < _LONGEST_NS and all(0 <= number < _MOST for number in counted)


def _date(header: dict[str, Any]) -> float:
    found = decode(float, header.get("created_unix_seconds"))
    if not 0 <= found < _LATEST:
        raise _Damaged.otherwise("seconds since 1970", f"{found:g}")
    return found


def _of(header: dict[str, Any], name: str, kind: type[T]) -> T:
    found = header.get(name)
    if type(found) is not kind:
        raise _Damaged.otherwise(f"{name}: {kind.__name__}", type(found).__name__)
    return found


@contextlib.contextmanager
def found(run: str, path: Path | None) -> Iterator[tuple[Store, str]]:
    """The open store that holds a run, and the run's whole id, for as long as the block lasts.

    Anything made of a run that came out of a pack, here or by ``tdelta import``, belongs in the block: its values may
    be such as no run has, and then it is an error that names the pack.

    Args:
        run: what `Store.resolve` takes, or the file of a pack (`tdelta.store.pack.is_pack_name`).
        path: the store, or None for the default one; not looked at for a pack.
    """
    if is_pack_name(run):
        with unpacked(Path(run)) as opened:
            yield opened
        return
    with Store.open(path, must_exist=True) as store:
        run_id = store.resolve(run)
        is_imported = store.summary(run_id).kind is RunKind.IMPORTED
        with saying(f"run {run_id}, from a pack") if is_imported else contextlib.nullcontext():
            yield store, run_id
