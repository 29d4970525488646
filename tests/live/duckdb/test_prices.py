import statistics
from pathlib import Path

from support.running import Place
from tdelta.engines.duckdb.database import BLOCK_BYTES
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.engines.embedded.pricing import ask_prices
from tdelta.processes import TwinFolder

from .conftest import ENGINE


def asked(base: Path, cipher: str) -> dict[str, float]:
    with TwinFolder(base, "prices") as folder:
        before = set(folder.path.iterdir())
        found = ask_prices(DuckdbEngine(), folder, {}, DuckdbSettings(cipher, engine_threads=2, working_mib=64))
        assert set(folder.path.iterdir()) == before
    assert found is not None
    assert found["page_bytes"] == BLOCK_BYTES
    passes = found["passes"]
    assert isinstance(passes, dict)
    return {name: statistics.median(each) for name, each in passes.items()}


def test_a_block_in_software_costs_and_its_mac_is_told_apart(tmp_path: Path) -> None:
    gcm = asked(tmp_path / "gcm", "aes-256-gcm-mbedtls")
    assert gcm["plain_read"] > 0
    assert gcm["read"] > gcm["bare_read"] > gcm["plain_read"]
    assert gcm["write"] > gcm["bare_write"] > 0
    ctr = asked(tmp_path / "ctr", "aes-256-ctr-mbedtls")
    assert ctr.keys() == {"plain_read", "plain_write", "read", "write"}


def test_software_ciphers_are_what_a_cold_scan_pays_for(place: Place) -> None:
    levels = "cipher=aes-256-gcm-mbedtls"
    document = place.answer(*ENGINE, "--workload", "scan", "--no-aa", "--size", "20MB", "--cold", "--vary", levels)
    (breakdown,) = document["cost_breakdown"]
    lines = {line["kind"]: line for line in breakdown["components"]}
    assert lines.keys() == {"cipher", "integrity", "io", "residual"}
    (decrypted, *_) = lines["cipher"]["items"]
    assert decrypted["what"] == "blocks decrypted"
    assert decrypted["count"] > 10
    # So few short trials tell the difference itself to ± 50 % only, so the rest is asked with its own interval.
    low, high = (us / breakdown["cpu"]["us"] for us in lines["residual"]["amount"]["hdi95"])
    assert low < 0.4, lines
    assert high > -0.4, lines
    # A block's cost does not depend on these trials.
    alone = asked(place.base / "prices", "aes-256-gcm-mbedtls")
    both = sum(lines[kind]["amount"]["us"] for kind in ("cipher", "integrity")) / decrypted["count"]
    assert 1 / 3 < both / (alone["read"] - alone["plain_read"]) < 3  # the machine computes at two speeds and more
