"""What goes wrong with ClickHouse's encryption is seen, and no key is shown or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdelta.driver import Worker
from tdelta.engines.clickhouse.engine import ClickhouseEngine, ClickhouseSettings, header
from tdelta.engines.clickhouse.twins import PROGRAM
from tdelta.errors import TdeltaError
from tdelta_refused import has

KEY = "5e" * 32
SETTINGS = ClickhouseSettings("aes-256-ctr", threads=1, engine_threads=1)
MADE = ("CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a", "INSERT INTO t SELECT number FROM numbers(1000)")


def test_a_key_is_on_no_disk_and_another_one_reads_nothing(tmp_path: Path) -> None:
    options, engine = ClickhouseEngine().options(tmp_path, SETTINGS, KEY), ClickhouseEngine()
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", options=options)
        worker.ask("run", statements=MADE)
        found = {**worker.ask("cipher"), "header": header(tmp_path)}
        assert engine.cipher_fault(SETTINGS, found) is None
        kept = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert kept
        assert [
            path for path in kept if KEY.encode() in path.read_bytes() or bytes.fromhex(KEY) in path.read_bytes()
        ] == []
    for wrong in ({"key": "7f" * 32}, {"key": None, "algorithm": None}):
        with Worker(program=PROGRAM) as worker, pytest.raises(TdeltaError) as told:
            _read(worker, {**options, **wrong})
        assert KEY not in str(told.value)


def _read(worker: Worker, options: dict[str, object]) -> None:
    worker.ask("open", options=options)
    worker.ask("facts", queries={"sum": "SELECT sum(a) FROM t"})


@pytest.mark.parametrize("cipher", ["aes-128-ctr", "aes-192-ctr"])
def test_every_cipher_is_in_force_where_it_is_asked_for_and_no_other(tmp_path: Path, cipher: str) -> None:
    engine, settings = ClickhouseEngine(), ClickhouseSettings(cipher, threads=1, engine_threads=1)
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", options=engine.options(tmp_path, settings, KEY[: 2 * engine.key_bytes(cipher)]))
        worker.ask("run", statements=MADE)
        found = {**worker.ask("cipher"), "header": header(tmp_path)}
    assert engine.cipher_fault(settings, found) is None
    assert engine.cipher_fault(SETTINGS, found) is not None


def test_no_cipher_is_seen(tmp_path: Path) -> None:
    engine = ClickhouseEngine()
    plain = ClickhouseSettings("none", threads=1, engine_threads=1)
    with Worker(program=PROGRAM) as worker:
        worker.ask("open", options=engine.options(tmp_path, plain, None))
        worker.ask("run", statements=MADE)
        found = {**worker.ask("cipher"), "header": header(tmp_path)}
    assert engine.cipher_fault(plain, found) is None
    assert has([engine.cipher_fault(SETTINGS, found)], "settings-not-in-force", settings="is_encrypted, header")
