"""The Rust side of tdelta: plans in as JSON, times and counters out as values."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

__all__ = [
    "BarePointSelects",
    "DbApiTwin",
    "Feed",
    "FloorMeter",
    "NativeError",
    "ServerTwin",
    "SqliteExposure",
    "SqliteTwin",
    "Twin",
    "Watch",
    "beta_quantile",
    "byte_statistics",
    "clear_stop",
    "gamma_quantile",
    "histogram_merge",
    "histogram_of",
    "histogram_summary",
    "histograms_bytes",
    "library_loaded",
    "log_incomplete_gamma",
    "loop_cost",
    "monotonic_ns",
    "operations_digest",
    "page_copies_ns",
    "panic_report",
    "plan_checksums",
    "process_usage",
    "request_stop",
    "search_bytes",
    "search_files",
    "stirling_excess",
    "student_quantile",
    "without_memory",
    "write_csv",
]

_FloatArray: TypeAlias = NDArray[np.float64]

class NativeError(Exception):
    """The error of a database or a plan; ``args`` is ``(kind, message)``."""

@disjoint_base
class Twin:
    """The work of every twin.

    What a trial answers: its ``outcome``, exact totals of its ``spans`` (count, ns) by name, what the engine adds as
    ``extra``, and ``histograms`` of the spans that were met, each an HdrHistogram V2 payload.
    """

    def text(self, sql: str) -> str: ...
    def load(self, plan: str, seed: int, threads: int, tables: Sequence[str], indexes: Sequence[str]) -> None: ...
    def checksums(self, tables: Sequence[tuple[str, Sequence[str]]]) -> dict[str, tuple[int, str]]: ...
    def prepare(self, transactions: str, constants: str) -> None: ...
    def trial(self, trial: str, settle: bool = True, feed: Feed | None = None) -> dict[str, Any]: ...
    def trace(self, trial: str) -> dict[str, Any]: ...
    def close(self) -> None: ...

@final
class Feed:
    """The operations of a trial, which are given to it in chunks while it runs.

    A chunk are the operations from ``first`` up to ``last``, which is not included. ``wanted`` waits until the last
    chunk is begun, and says whether more may come; ``complete`` says that none will.
    """

    def __new__(cls, chunks: Sequence[tuple[int, int]]) -> Feed: ...
    def add(self, first: int, last: int) -> None: ...
    def complete(self) -> None: ...
    def wanted(self) -> bool: ...

@final
class SqliteTwin(Twin):
    """A twin of the SQLite family, driven through the library that loaded this module as an extension."""

    def __new__(cls, options: str, connections: int) -> SqliteTwin: ...
    def keyed(self, sql: str, key: str) -> None: ...
    def reserve(self, schema: str, reserved_bytes: int) -> None: ...

@final
class ServerTwin(Twin):
    """A twin on a server, driven by a native client of its protocol."""

    def __new__(cls, options: str, connections: int) -> ServerTwin: ...
    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]: ...
    def run(self, sql: str) -> None: ...
    def observe(self, observed: str) -> None: ...
    def trace_by(self, tracing: str) -> None: ...
    def begin_external_load(self) -> None: ...
    def end_external_load(self, settle: bool = True) -> dict[str, Any]: ...

@final
class DbApiTwin(Twin):
    r"""A twin of an engine whose client is a driver of Python's (PEP 249).

    ``connect`` makes a cursor that is ready for use; it is given the one that ``\connect`` is to close, or None.
    ``explain`` says of an exception its kind, its words, and whether to try again. ``cool`` makes caches cold between
    the operations of a cold trial, ``files`` tells sizes, ``settle`` brings the engine to rest and says whether it had
    to. ``meter`` reads the counters of a server around each statement of a trace, given the cursor that is traced;
    ``cpu_ns`` is among them where the server accounts for it. Without it the meters are those of this process.
    """

    def __new__(
        cls,
        style: str,
        connect: Callable[[Any], object],
        connections: int,
        explain: Callable[[BaseException], tuple[str, str, bool]],
        *,
        cool: Callable[[], object] | None = None,
        files: Callable[[], dict[str, int]] | None = None,
        settle: Callable[[], bool] | None = None,
        meter: Callable[[Any], dict[str, int]] | None = None,
    ) -> DbApiTwin: ...

@final
class BarePointSelects:
    """The bare loop that the load loop is measured against."""

    def __new__(cls, options: str, sql: str) -> BarePointSelects: ...
    def run(self, seed: int, rows: int, operations: int) -> int: ...

@final
class FloorMeter:
    """Pages of encryption by the machine's own OpenSSL, checked and ready to be timed."""

    def __new__(cls, plan: str) -> FloorMeter: ...
    def facts(self) -> dict[str, Any]: ...
    def run_pass(self, index: int) -> list[dict[str, Any]]: ...

@final
class SqliteExposure:
    """An extra connection to a twin's file that holds rows in every kind of file until it is closed."""

    def __new__(cls, options: str, statements: Sequence[str], cursors: Sequence[str]) -> SqliteExposure: ...
    def close(self) -> None: ...

@final
class Watch:
    """Watches whether this process, or one of some others, stands still."""

    def __new__(cls, processes: Sequence[int]) -> Watch: ...
    def end(self) -> dict[str, Any]: ...

def page_copies_ns(page_bytes: int, ring_bytes: int, passes: int) -> list[float]: ...
def panic_report() -> str | None: ...
def without_memory(words: str) -> None: ...
def loop_cost(transactions: str, constants: str, trial: str) -> dict[str, Any]: ...
def histograms_bytes(spans: int) -> int: ...
def process_usage() -> dict[str, Any]: ...
def plan_checksums(plan: str, seed: int, threads: int) -> dict[str, tuple[int, str]]: ...
def write_csv(plan: str, table: str, seed: int, threads: int, path: str | PathLike[str]) -> int: ...
def histogram_merge(payloads: Sequence[bytes]) -> bytes: ...
def histogram_of(times_ns: Sequence[int], counts: Sequence[int]) -> bytes: ...
def histogram_summary(payloads: Sequence[bytes], quantiles: Sequence[float]) -> tuple[int, float, int, list[int]]: ...
def operations_digest(operations: int) -> int: ...
def stirling_excess(shape: _FloatArray) -> bytearray: ...
def log_incomplete_gamma(shape: _FloatArray, x: _FloatArray) -> bytearray: ...
def gamma_quantile(p: _FloatArray, shape: _FloatArray) -> bytearray: ...
def beta_quantile(p: _FloatArray, a: _FloatArray, b: _FloatArray) -> bytearray: ...
def student_quantile(p: _FloatArray, df: _FloatArray) -> bytearray: ...
def request_stop() -> None: ...
def clear_stop() -> None: ...
def monotonic_ns() -> int: ...
def library_loaded() -> bool: ...
def search_files(
    paths: Sequence[str | PathLike[str]],
    needles: Sequence[bytes],
    threads: int,
    tick: Callable[[int], object] | None = None,
) -> list[dict[str, Any]]: ...
def search_bytes(content: bytes, needles: Sequence[bytes]) -> list[int]: ...
def byte_statistics(
    paths: Sequence[str | PathLike[str]],
    block_bytes: int,
    threads: int,
    tick: Callable[[int], object] | None = None,
) -> list[dict[str, Any]]: ...
