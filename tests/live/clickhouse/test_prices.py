"""What bytes cost ClickHouse itself, and the line that makes of scans."""

from __future__ import annotations

import statistics
from pathlib import Path

from sqlite.running import Answered

from tdelta.engines.clickhouse.engine import BLOCK_BYTES, ClickhouseEngine, ClickhouseSettings
from tdelta.engines.clickhouse.pricing import ask_block_prices
from tdelta.engines.clickhouse.twins import PROGRAM
from tdelta.measure import cannot_hide
from tdelta.measure.aes import CryptoKind, hidden_environment


def asked(home: Path, *, in_software: bool) -> dict[str, float]:
    """The median of each price of AES-256, µs for each 64 KiB."""
    engine, state = ClickhouseEngine(), "off" if in_software else "on"
    environment = hidden_environment(CryptoKind(engine.crypto)) if in_software else {}
    settings = ClickhouseSettings("aes-256-ctr", 1, 1, state)
    found = ask_block_prices(engine, PROGRAM, home, environment, settings)
    assert (found["page_bytes"], found["counted"]) == (BLOCK_BYTES, "blocks")
    assert not home.exists()
    passes = found["passes"]
    assert isinstance(passes, dict)
    return {name: statistics.median(each) for name, each in passes.items()}


def test_bytes_cost_as_much_to_read_as_to_write_and_more_in_software(tmp_path: Path) -> None:
    hardware = asked(tmp_path / "hardware", in_software=False)
    is_hidden = not cannot_hide(CryptoKind(ClickhouseEngine().crypto))
    software = asked(tmp_path / "software", in_software=True) if is_hidden else {}
    assert hardware.keys() == {"plain_read", "plain_write", "read", "write"}
    assert min(*hardware.values(), *software.values()) > 0, (hardware, software)
    for way in ("read", "write") if software else ():
        assert software[way] > hardware[way], (hardware, software)
        assert 1 / 3 < software[way] / software["read"] < 3, software


def test_the_cost_breakdown_has_the_ciphers_line_of_a_load_and_of_queries(study: Answered) -> None:
    assert study.document["cost_breakdown"]
    for breakdown in study.document["cost_breakdown"]:
        lines = {line["kind"]: line for line in breakdown["components"]}
        items = {item["what"]: item["count"] for item in lines["cipher"]["items"]}
        expected = {"load": "encrypted", "rebuild": "encrypted", "cold": "decrypted"}[breakdown["condition"]["work"]]
        assert items[f"blocks {expected}"] > 1, breakdown
