import base64
from typing import Any

from tdelta import _native


def answer(times_ns: list[int], *, began_ns: int = 0, ended_ns: int = 1_000_000_000, **outcome: Any) -> dict[str, Any]:
    """A worker's answer to a trial whose operations took these times; ``cpu_share`` is its loop's of a core."""
    cpu_seconds = outcome.pop("cpu_share", 0.1) * (ended_ns - began_ns) * 1e-9
    total = len(times_ns) + 1
    payload = _native.histogram_of(times_ns, [1] * len(times_ns))
    return {
        "outcome": {
            "operations": len(times_ns),
            "total_operations": total,
            "operations_digest": _native.operations_digest(total),
            "elapsed_ns": ended_ns - began_ns,
            "cpu_user_seconds": 0.0,
            "cpu_system_seconds": 0.0,
            "run_delay_ns": 10,
            "rows": len(times_ns),
            "errors": {},
            "retries": {},
            "first_error": None,
            "queued_operations": 1,
            "backlog_max": 2,
            "waited_ns": 0,
            "planted_cpu_ns": 0,
            "planted_elapsed_ns": 0,
            "stopped_by": "count",
            "standstill": None,
            **outcome,
        },
        "spans": {"tx:buy": [len(times_ns), sum(times_ns)], "stmt:buy/1": [len(times_ns), sum(times_ns)]},
        "histograms": {name: base64.b64encode(payload).decode() for name in ("tx:buy", "stmt:buy/1")},
        "extra": {"client_cpu_user_seconds": cpu_seconds, "client_cpu_system_seconds": 0.0, "counters": {}},
        "began_ns": began_ns,
        "ended_ns": ended_ns,
        "clock_error_ns": 0,
    }
