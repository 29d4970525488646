from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tdelta.engines.sqlite.engine import WORKER, SqliteEngine, TwinSettings
from tdelta.engines.sqlite.libraries import RAW
from tdelta.processes import Worker

KEY = "5e" * 32


def settings(cipher: str, **changes: Any) -> TwinSettings:
    return TwinSettings(cipher, **{"cache_bytes": 1_000_000, "key_kind": RAW, **changes})


class Opened:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def text(self, sql: str) -> str:
        return self._worker.ask("facts", queries={"answer": sql})["answer"]


@contextmanager
def made(
    engine: SqliteEngine, path: Path, wanted: TwinSettings, *, reserve: bool = True, **changes: Any
) -> Iterator[Opened]:
    """A new file; with ``reserve`` off, the library decides what it reserves. ``changes`` are to the options."""
    options = engine.making(path, wanted, _key(engine, wanted))["options"] | changes
    if not reserve:
        del options["reserve"]
    with Worker(program=WORKER) as worker:
        worker.ask("open", library=engine.library.name, options=options, connections=1)
        yield Opened(worker)


@contextmanager
def opened(engine: SqliteEngine, path: Path, wanted: TwinSettings, *, key: str = KEY) -> Iterator[Opened]:
    options = engine.opening(path, wanted, _key(engine, wanted, key))["options"]
    with Worker(program=WORKER) as worker:
        worker.ask("open", library=engine.library.name, options=options, connections=1)
        yield Opened(worker)


def _key(engine: SqliteEngine, wanted: TwinSettings, key: str = KEY) -> str | None:
    return key if engine.needs_key(wanted.cipher) else None
