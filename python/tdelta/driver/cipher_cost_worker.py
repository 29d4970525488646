"""One level of the CPU's AES instructions, in a process of its own: pages through OpenSSL, checked and timed.

OpenSSL asks its environment once, when it is loaded, which instructions it may use; so a level is a process. Started by
`tdelta.measure.cipher_cost`.
"""

from __future__ import annotations

import json

from tdelta import _native
from tdelta.driver.rpc import Host, Reply, Request, serve


class MeterHost(Host):
    def __init__(self) -> None:
        super().__init__()
        self._meter: _native.FloorMeter | None = None

    def refused(self, error: Exception) -> list[str] | None:
        if isinstance(error, _native.NativeError):
            return list(error.args)
        return ["plan", str(error)] if isinstance(error, ValueError) else None

    def do_prepare(self, request: Request) -> Reply:
        self._meter = _native.FloorMeter(json.dumps(request["plan"]))
        return self._meter.facts()

    def do_pass(self, request: Request) -> list[Reply]:
        if self._meter is None:
            raise ValueError("expected prepare, then pass")
        return self._meter.run_pass(request["index"])


if __name__ == "__main__":
    serve(MeterHost())
