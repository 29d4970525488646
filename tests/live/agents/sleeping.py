"""A worker without a database, whose operations sleep: the first one that connects sleeps three times as long.

It says who is slow, which trials it has begun and which operations it did by files in the folder that it connects to.
"""

import json
import os
import time
from pathlib import Path

from tdelta import _native
from tdelta.processes.dbapi import explained
from tdelta.processes.rpc import Reply, Request, serve
from tdelta.processes.worker_host import TwinHost

FAST_SECONDS, SLOW_SECONDS = 0.001, 0.003


class Cursor:
    def __init__(self, seconds: float, done: list[int]) -> None:
        self.seconds = seconds
        self.done = done
        self.description = None
        self.connection = self

    def execute(self, _sql: str, parameters: tuple[int]) -> None:
        time.sleep(self.seconds)
        self.done.append(parameters[0])

    def fetchall(self) -> list[tuple[object, ...]]:
        return []

    def commit(self) -> None:
        """There is nothing to be kept."""


class Host(TwinHost):
    def do_connect(self, order: Request) -> Reply:
        self.folder, self.done = Path(order["options"]["folder"]), list[int]()
        try:
            (self.folder / "slow").symlink_to(str(os.getpid()))
            seconds = SLOW_SECONDS
        except FileExistsError:
            seconds = FAST_SECONDS
        connect = lambda _old: Cursor(seconds, self.done)  # noqa: E731
        self.twin = _native.DbApiTwin('{"parameters": "qmark"}', connect, order["connections"], explained)
        return {}

    def do_observe(self, _order: Request) -> Reply:
        return {}

    def do_trial(self, order: Request) -> Reply:
        self.done.clear()
        (self.folder / f"begun-{order['trial']['stream']}-{os.getpid()}").touch()
        answer = super().do_trial(order)
        (self.folder / f"done-{order['trial']['stream']}-{os.getpid()}").write_text(json.dumps(self.done))
        return answer


if __name__ == "__main__":
    serve(Host())
