"""One level of the CPU's AES instructions, in a process of its own: pages through OpenSSL, checked and timed.

OpenSSL asks its environment once, when it is loaded, which instructions it may use; so a level is a process. Orders
come as JSON lines on standard input (``prepare`` with a plan, then ``pass`` after ``pass``), answers leave on a
duplicate of standard output. Started by `tdelta.measure.cipher_cost` as ``python -m tdelta.measure.cipher_cost_worker
PARENT_PID``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from tdelta import _native
from tdelta.measure.starting import die_with_parent


class Host:
    """The state of one process: its meter, once it is made."""

    def __init__(self) -> None:
        self._meter: _native.FloorMeter | None = None

    def answer(self, order: dict[str, Any]) -> dict[str, Any]:
        """Carry out one order. What OpenSSL or the plan refuses becomes ``{"error": [kind, message]}``."""
        try:
            return {"ok": self._done(order)}
        except _native.NativeError as error:
            return {"error": list(error.args)}
        except ValueError as error:
            return {"error": ["plan", str(error)]}

    def _done(self, order: dict[str, Any]) -> object:
        if order["do"] == "prepare":
            self._meter = _native.FloorMeter(json.dumps(order["plan"]))
            return self._meter.facts()
        if order["do"] != "pass" or self._meter is None:
            raise ValueError(f"expected prepare, then pass, found {order['do']!r}")
        return self._meter.run_pass(order["index"])


def main() -> None:
    die_with_parent(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    host = Host()
    for line in sys.stdin:
        answers.write(json.dumps(host.answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
