"""The names that columns of a CSV are known by, in one spelling; ``docs/formats.md`` has the main ones."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.errors import UsageError
from tdelta.importers.problems import unexpected
from tdelta.records.observed import RESPONSE_TIME, THROUGHPUT


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


CONDITION = ("condition", "encryption", "cipher", "configuration", "config", "scenario", "setup", "tde")
"""The first of these that the header has is the condition; another one beside it is a factor."""

TRANSACTION = _names(
    "transaction transaction_name transaction_type tx txn query query_name statement step operation procedure"
)
RUN = _names("run run_id rep repeat repetition replicate trial iteration round")
PUBLISHED = _names("published printed")
COUNT = _names("n count samples sample_count observations executions")
MEAN = _names("mean avg average mean_response avg_response average_response mean_latency avg_latency average_latency")
SD = _names("sd std stddev stdev std_dev standard_deviation")
RESPONSE = _names("response response_time responsetime latency rt duration")
FACTOR = _names(
    "threads thread_count clients users vus connections concurrency cores cache cache_size buffer_pool buffer_pool_size"
    " page_size scope aes_instructions aes_ni scale scale_factor warehouses tables platform engine database version"
    " storage disk_type workload"
)
COST = _names(
    "cpu elapsed time disk reads writes physical_reads physical_writes logical_reads buffer_gets gets query_gets"
    " current_gets redo log_bytes size bytes calls rows wait waits"
)
NO_RESPONSE = _names("cpu disk")
"""Times that are no response times, even where the user chooses them."""
NOT_USED = _names(
    "timestamp time_stamp ts start start_time end end_time date datetime epoch id seq row number no line client"
    " client_id thread thread_id worker worker_id session session_id pid host hostname comment note notes source"
)
JMETER = frozenset(("time_stamp", "elapsed", "label"))
"""What the header of a results file of JMeter has."""
EXTREMES = _names("min max minimum maximum p0 p00 p100")

PER_SECOND = {
    **dict.fromkeys(_names("tps throughput transactions_per_second eps ops_per_second ops rps qps"), 1.0),
    **dict.fromkeys(_names("tpm nopm tpmc transactions_per_minute"), 1 / 60),
}
"""Names of throughput, and what makes them a second."""
_RATES = {**PER_SECOND, "/s": 1.0, "per_s": 1.0, "/min": 1 / 60, "per_min": 1 / 60}

OF_THE_WHOLE = ("tps", "throughput", "transactions_per_second", "nopm", "tpm", "tpmc")
"""Of several throughputs in one row, the first of these is that of the whole."""

OF_ANYTHING = _names("transactions txns operations ops requests queries events iterations jobs")
"""What a throughput counts where it is of no operation in particular."""

TIMES_MS = {
    **dict.fromkeys(_names("ns nanoseconds nanos"), 1e-6),
    **dict.fromkeys(_names("us µs μs usec usecs microseconds micros"), 1e-3),
    **dict.fromkeys(_names("ms msec msecs milliseconds millis millisecond"), 1.0),
    **dict.fromkeys(_names("s sec secs seconds"), 1e3),
    **dict.fromkeys(_names("min mins minutes"), 6e4),
}
SIZES = {"bytes": "bytes", "kb": "kB", "mb": "MB", "gb": "GB", "kib": "KiB", "mib": "MiB", "gib": "GiB", "pct": "%"}


@dataclass(frozen=True, slots=True)
class Measure:
    """What figures are: their metric, the unit of results, and what makes the file's figures that."""

    metric: str
    unit: str
    scale: float


def measure_of_unit(unit: str) -> Measure | None:
    """``ms`` and ``seconds`` are response times, ``tps`` and ``/min`` throughput; None for anything else."""
    name = unit.strip().lower()
    if name in TIMES_MS:
        return Measure(RESPONSE_TIME, "ms", TIMES_MS[name])
    if name in _RATES:
        return Measure(THROUGHPUT, "/s", _RATES[name])
    return None


def asked_unit(unit: str) -> str:
    """The user's unit, if it is one.

    Raises:
        UsageError: it is none.
    """
    if measure_of_unit(unit) is None:
        raise UsageError(
            unexpected(
                "a unit of time (ns, us, ms, s, min) or throughput (tps, qps, ops, tpm, /s, /min)",
                "another",
                f"--unit {unit!r}",
            )
        )
    return unit
