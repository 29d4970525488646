"""The Rust side of tdelta: plans in as JSON, times and counters out as JSON and bytes."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import final

__all__ = [
    "BarePointSelects",
    "NativeError",
    "SqliteExposure",
    "SqliteTwin",
    "byte_statistics",
    "clear_stop",
    "histogram_summary",
    "library_loaded",
    "loop_cost",
    "monotonic_ns",
    "plan_checksums",
    "request_stop",
    "search_bytes",
    "search_files",
]

class NativeError(Exception):
    """What a database or a plan answered; ``args`` is ``(kind, message)``."""

@final
class SqliteTwin:
    """A twin of the SQLite family, driven through the library that loaded this module as an extension."""

    def __new__(cls, options: str, connections: int) -> SqliteTwin: ...
    def text(self, sql: str) -> str: ...
    def load(self, plan: str, seed: int, threads: int, tables: Sequence[str], indexes: Sequence[str]) -> None: ...
    def checksums(self, tables: Sequence[tuple[str, Sequence[str]]]) -> str: ...
    def prepare(self, transactions: str, constants: str) -> None: ...
    def trial(self, trial: str, turns: str | None = None, checkpoint: bool = True) -> tuple[str, dict[str, bytes]]: ...
    def close(self) -> None: ...

@final
class BarePointSelects:
    """The bare loop that the load loop is measured against."""

    def __new__(cls, options: str, sql: str) -> BarePointSelects: ...
    def run(self, seed: int, rows: int, operations: int) -> int: ...

@final
class SqliteExposure:
    """An extra connection to a twin's file that holds rows in every kind of file until it is closed."""

    def __new__(cls, options: str, statements: Sequence[str], cursors: Sequence[str]) -> SqliteExposure: ...
    def close(self) -> None: ...

def loop_cost(transactions: str, constants: str, trial: str) -> tuple[str, dict[str, bytes]]: ...
def plan_checksums(plan: str, seed: int, threads: int) -> str: ...
def histogram_summary(payloads: Sequence[bytes], quantiles: Sequence[float]) -> tuple[int, float, int, list[int]]: ...
def request_stop() -> None: ...
def clear_stop() -> None: ...
def monotonic_ns() -> int: ...
def library_loaded() -> bool: ...
def search_files(
    paths: Sequence[str | PathLike[str]],
    needles: Sequence[bytes],
    threads: int,
    tick: Callable[[int], object] | None = None,
) -> str: ...
def search_bytes(content: bytes, needles: Sequence[bytes]) -> list[int]: ...
def byte_statistics(
    paths: Sequence[str | PathLike[str]],
    block_bytes: int,
    threads: int,
    tick: Callable[[int], object] | None = None,
) -> str: ...
