from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwins, Script, cost_by_cipher
from support.refused import Part, has
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.records import Decision

from .conducting import Sitting, check
from .served import is_block, is_warm_up

COSTS = {"none": 100_000.0, "aes-256-gcm": 150_000.0, "aes-256-ctr": 120_000.0}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckdbEngine, "require", lambda _self: None)
    monkeypatch.setattr(DuckdbEngine, "versions", lambda _self: {"duckdb": "1.5.5"})


def told(settings: DuckdbSettings) -> dict[str, str]:
    mode = DuckdbEngine.ciphers[settings.cipher].mode
    return {
        "encrypted": "false" if mode is None else "true",
        "cipher": mode or "",
        "crypto": "openssl",
        "temp_file_encryption": "true",
        "header": "plain" if mode is None else "hidden",
    }


def sitting(base: Path, **script: Any) -> Sitting:
    spoken = {"cost_ns": cost_by_cipher(COSTS), "facts": lambda _: {"version": "v1.5.5"}, "cipher_facts": told}
    return Sitting(base, FakeTwins(Script(**{**spoken, **script})))


def test_a_run_on_duckdb_answers_for_its_default_cipher(tmp_path: Path) -> None:
    result = sitting(tmp_path).conduct(engine="duckdb")
    (verdict,) = result.primary
    assert (verdict.condition.level("cipher"), verdict.decision) == ("aes-256-gcm", Decision.SLOWER)
    assert has(check(result, "cipher-in-force").details, "cipher-seen", seen=Part("aes-256-gcm: GCM by openssl"))
    assert has(result.cautions, "one-memory-limit", product="DuckDB")


def test_a_twin_that_is_plain_without_a_word_makes_the_run_invalid(tmp_path: Path) -> None:
    result = sitting(tmp_path, cipher_facts=lambda _: told(DuckdbSettings("none", 1, 1, 1))).conduct(engine="duckdb")
    assert result.decision is Decision.INVALID
    assert has(check(result, "cipher-in-force").details, "cipher-fault", condition="cipher=aes-256-gcm,threads=1")


def test_cold_twins_are_not_warmed_up_and_nothing_at_their_head_is_left_out(tmp_path: Path) -> None:
    made = sitting(tmp_path)
    vary = {"cipher": ("aes-256-gcm",), "work": ("warm", "cold")}
    made.conduct(engine="duckdb", vary=vary, aa_control=False)
    of_rounds = [twin for twin in made.twins.started if not twin.name.startswith("calibration")]
    cold, warm = ([twin for twin in of_rounds if twin.settings.is_cold is is_cold] for is_cold in (True, False))
    assert len(cold) == len(warm) == 2 * 2
    assert not any(is_warm_up(job) for twin in cold for job in twin.jobs)
    assert all(sum(is_warm_up(job) for job in twin.jobs) == 1 for twin in warm)
    assert {job.discard for twin in cold for job in twin.jobs if is_block(job)} == {0}
    assert all(job.discard > 0 for twin in warm for job in twin.jobs if is_block(job))
    assert min(job.operations for twin in cold for job in twin.jobs if is_block(job)) > 4  # they fill the trial


def test_the_version_is_kept_with_the_run(tmp_path: Path) -> None:
    place = sitting(tmp_path)
    place.conduct(engine="duckdb")
    assert place.state().library == "duckdb 1.5.5"
