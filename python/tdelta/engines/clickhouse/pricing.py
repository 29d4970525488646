"""Have a worker of its own, with a twin's environment, say what bytes cost ClickHouse."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta.driver.workers import Worker
from tdelta.engines.clickhouse.engine import BLOCK_BYTES, ClickhouseEngine, ClickhouseSettings
from tdelta.measure import price_effort

_SECONDS = 300.0


def ask_block_prices(
    engine: ClickhouseEngine, program: str, home: Path, environment: Mapping[str, str], settings: ClickhouseSettings
) -> dict[str, object]:
    """What 64 KiB of an encrypted twin's files cost, pass by pass; see `tdelta.engines.clickhouse.block_prices`.

    It takes some seconds, and two files of 8 MiB in ``home``, which is made and removed.

    Raises:
        StorageFault: the disk is full, or a file cannot be read or written.
        TdeltaError: ClickHouse cannot do it; the message is its own.
        WorkerFault: the worker died.
    """
    options = engine.options(home, settings, secrets.token_hex(engine.key_bytes(settings.cipher)))
    is_fast = settings.aes_instructions == "on"  # in software it takes six times as long
    repeats = price_effort.BLOCK_REPEATS if is_fast else 1
    try:
        with Worker(environment, program) as worker:
            worker.ask("open", seconds=_SECONDS, options=options)
            request: dict[str, Any] = {"repeats": repeats, "least_seconds": price_effort.BLOCK_SECONDS}
            passes = worker.ask("price", seconds=_SECONDS, **request)["passes"]
            worker.ask("close", seconds=_SECONDS)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return {"page_bytes": BLOCK_BYTES, "counted": "blocks", "cipher": settings.cipher, "mac": "", "passes": passes}
