import os
from pathlib import Path
from typing import Any

import pytest

from support.fake_twins import FakeTwins, Script, cost_by_cipher
from support.refused import Coded, Part, coded, has, refused
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.errors import EngineUnavailable, UsageError
from tdelta.evidence import FileClass
from tdelta.records import Decision
from tdelta.session import RunRequest
from tdelta.session.run_plan import Plan, plan

from .conducting import Sitting, check
from .served import is_block, is_warm_up

CORES = len(os.sched_getaffinity(0))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckdbEngine, "require", lambda _self: None)
    monkeypatch.setattr(DuckdbEngine, "versions", lambda _self: {"duckdb": "1.5.5"})


def made(**options: object) -> Plan:
    return plan(RunRequest(**{"engine": "duckdb", "workload": "scan", "seed": 1, **options}), "r1")


def settings(of: Plan, data_bytes: int = 100 << 20) -> dict[str, DuckdbSettings]:
    return {condition.key: of.twin_settings(condition, data_bytes) for condition in of.conditions}


def test_by_default_it_is_compared_with_its_own_default_cipher() -> None:
    assert [str(c.level("cipher")) for c in made().conditions] == ["none", "none", "aes-256-gcm"]


def test_a_file_is_loaded_once_for_each_cipher() -> None:
    of = made(vary={"cipher": ("aes-256-gcm", "aes-256-gcm-mbedtls"), "threads": (1, 4)})
    assert list(of.data_templates()) == [("none",), ("aes-256-gcm",), ("aes-256-gcm-mbedtls",)]


def test_memory_is_the_cache_and_what_queries_work_in() -> None:
    (found,) = {one.memory_mib for one in settings(made(cache=0.5)).values()}
    assert found == 96 + 32 * max(1, CORES) + 50
    assert {one.engine_threads for one in settings(made()).values()} == {CORES}


def test_the_schema_is_in_its_own_dialect_with_the_markers_table_behind() -> None:
    job = made().populate_job()
    assert "CHAR(120)" not in job.tables_sql[0] or "TEXT" in job.tables_sql[0]
    assert job.tables_sql[-1] == "CREATE TABLE tdelta_marker (id INTEGER PRIMARY KEY, marker BLOB NOT NULL)"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"database": Path("mine.db")}, coded("not-supported", what="--database")),
        ({"page_size": 8192}, coded("not-supported", what="--page-size")),
        ({"library": "sqlcipher"}, coded("not-supported", what="--library")),
        ({"synchronous": "full"}, coded("not-supported", what="--synchronous")),
        ({"scope": "all"}, coded("unknown", found="all", hint=Part("one of +temp, data"), kind="scope")),
        ({"vary": {"scope": ("+log",)}}, coded("unknown", found="+log", hint=Part("one of +temp, data"), kind="scope")),
        ({"restore": "cat"}, coded("not-supported", what="--restore")),
        ({"load_generator": "true"}, coded("not-supported", what="--load-generator")),
        ({"vary": {"cipher": ("aes-256-gcm",), "page_size": (4096,)}}, coded("not-supported", what="--vary page_size")),
        ({"cold": True, "threads": 2}, coded("conflict", one="--threads above 1")),
        ({"cold": True, "rate": 5.0}, coded("conflict", one="--rate")),
        (
            {"cold": True, "vary": {"cipher": ("aes-256-gcm",), "work": ("cold",)}},
            coded("conflict", one="--cold", other="--vary work=…"),
        ),
        ({"warmup_seconds": 9.0}, coded("warmup-too-long", warmup=9.0)),
        ({"vary": {"cipher": ("aes-128",)}}, coded("unknown", kind="cipher", found="aes-128")),
        ({"workload": "connect"}, coded("unsupported", what="\\connect")),
        (
            {"study": "order-entry", "vary": {"cipher": ("aes-128",)}},
            coded("study-without-cipher", study="order-entry", cipher="aes-128", product="DuckDB"),
        ),
    ],
)
def test_what_duckdb_does_not_have_is_refused(options: dict, told: Coded) -> None:
    with pytest.raises(UsageError) as caught:
        made(**options)
    assert has(caught.value.refusals, told), caught.value.refusals


def test_what_memory_holds_and_what_mbedtls_is_goes_with_the_answer() -> None:
    of = made(vary={"cipher": ("aes-256-gcm-mbedtls",)})
    told = [[caution.code for caution in of.engine.cautions(one)] for one in settings(of, 0).values()]
    assert all(codes[0] == "one-memory-limit" for codes in told)
    assert sum(codes[-1] == "software-aes" for codes in told) == 1
    cold = made(cold=True)
    assert [cautions for one in settings(cold).values() for cautions in cold.engine.cautions(one)] == []


def test_temporary_files_are_encrypted_on_all_twins_unless_a_scope_says_on_which() -> None:
    assert {one.encrypts_temp for one in settings(made()).values()} == {True}
    of = made(vary={"scope": ("data", "+temp")}, aa_control=False)
    found = {str(c.level("scope")): of.twin_settings(c, 0) for c in of.conditions}
    assert {scope: one.encrypts_temp for scope, one in found.items()} == {"none": False, "data": False, "+temp": True}
    covered = {scope: FileClass.TEMP in of.engine.covered(one) for scope, one in found.items()}
    assert covered == {"none": False, "data": False, "+temp": True}
    assert of.engine.differing(found["+temp"])[-1] == "temp_file_encryption"
    assert len(of.data_templates()) == 2
    plain, encrypted = settings(made(scope="data", aa_control=False)).values()
    assert not plain.encrypts_temp
    assert not encrypted.encrypts_temp


def test_what_is_told_of_a_cipher_is_what_was_found() -> None:
    of = made(aa_control=False)
    plain, encrypted = settings(of).values()
    facts = {"encrypted": "true", "cipher": "GCM", "crypto": "openssl"}
    assert of.engine.described(encrypted, facts) == "GCM by openssl"
    assert "plain" in of.engine.described(plain, {"encrypted": "false"})
    assert of.engine.described(encrypted, {"encrypted": "false"}) == "NOT encrypted"
    assert of.engine.differing(encrypted) == ("ENCRYPTION_KEY", "ENCRYPTION_CIPHER GCM")
    assert of.engine.differing(plain) == ()


def test_cold_and_warm_are_levels_of_a_factor_or_all_is_cold() -> None:
    of = made(vary={"cipher": ("aes-256-gcm",), "work": ("warm", "cold")}, aa_control=False)
    found = {dict(c.levels)["work"]: of.twin_settings(c, 0).is_cold for c in of.conditions}
    assert found == {"warm": False, "cold": True}
    assert len(of.strata) == 2
    all_cold = made(cold=True)
    assert all(all_cold.is_cold(c) for c in all_cold.conditions)
    assert of.engine.profile.cold_operations is None


def test_needs_hold_the_rows_twice_beside_the_twins() -> None:
    of = made(size_bytes=50_000_000, aa_control=False)
    needs = of.engine.estimate(of)
    assert needs.disk_bytes > 50_000_000 * (2 + 2 + 2)
    assert needs.memory_bytes >= 2 * (96 << 20)


def test_where_it_is_not_installed_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(DuckdbEngine, "version", lambda _self: None)
    with refused(EngineUnavailable, "library-missing", library="duckdb"):
        made()


COSTS = {"none": 100_000.0, "aes-256-gcm": 150_000.0, "aes-256-ctr": 120_000.0}


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
    result = sitting(tmp_path, cipher_facts=lambda _: told(DuckdbSettings("none"))).conduct(engine="duckdb")
    assert result.decision is Decision.INVALID
    assert has(check(result, "cipher-in-force").details, "cipher-fault", condition="cipher=aes-256-gcm,threads=1")


def test_cold_twins_are_not_warmed_up_and_nothing_at_their_head_is_left_out(tmp_path: Path) -> None:
    made = sitting(tmp_path)
    vary = {"cipher": ("aes-256-gcm",), "work": ("warm", "cold")}
    made.conduct(engine="duckdb", vary=vary, aa_control=False)
    of_rounds = [twin for twin in made.twins.started if not twin.name.startswith("sizing")]
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
