import dataclasses
import importlib.metadata
from pathlib import Path, PurePosixPath

import pytest

from support.refused import Coded, Part, coded, refused
from tdelta.engines.duckdb.database import attach_sql
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.engines.duckdb.profile import PROFILE
from tdelta.engines.embedded.sql import literal, quoted
from tdelta.engines.registry import catalogue
from tdelta.errors import EngineUnavailable

KEY = "5e" * 32
VERSIONS = {"duckdb": "1.5.5", "duckdb-extension-httpfs": "1.5.5"}
GCM = {"encrypted": "true", "cipher": "GCM", "crypto": "openssl", "temp_file_encryption": "true", "header": "hidden"}
PLAIN = {**GCM, "encrypted": "false", "cipher": "", "header": "plain"}


class File(PurePosixPath):
    def locate(self) -> Path:
        return Path("/site") / self


def installed(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], *files: str) -> None:
    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.metadata, "files", lambda _name: [File(name) for name in files])


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> DuckdbEngine:
    installed(monkeypatch, VERSIONS, "x/__init__.py", "x/extensions/v1.5.5/httpfs.duckdb_extension")
    return DuckdbEngine()


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (1_048_575, "1023.9 KiB"),
        (1_048_576, "1.0 MiB"),
        (1_153_536, "1.0 MiB"),
        (3_000_000, "2.8 MiB"),
        (1_500_000_000, "1.3 GiB"),
        (5_497_681_595_669, "5.0 TiB"),
    ],
)
def test_sizes_are_expected_in_duckdbs_words(size_bytes: int, text: str) -> None:
    """The texts are DuckDB 1.5.5's own."""
    assert PROFILE.settings["memory_limit"].expected(size_bytes) == text


def settings(cipher: str) -> DuckdbSettings:
    return DuckdbSettings(cipher, engine_threads=4, working_mib=160)


def test_the_module_comes_out_of_its_wheel(engine: DuckdbEngine) -> None:
    engine.require()
    assert engine.module_path() == Path("/site/x/extensions/v1.5.5/httpfs.duckdb_extension")
    assert engine.identity() == "duckdb 1.5.5, duckdb-extension-httpfs 1.5.5"


@pytest.mark.parametrize(
    ("versions", "told"),
    [
        ({}, coded("library-missing", library="duckdb, duckdb-extension-httpfs")),
        ({"duckdb": "1.5.5"}, coded("library-missing", library="duckdb-extension-httpfs")),
        (
            {**VERSIONS, "duckdb-extension-httpfs": "1.5.4"},
            coded("version-mismatch", expected=Part("1.5.5"), found="1.5.4", what="duckdb-extension-httpfs"),
        ),
        (VERSIONS, coded("library-missing")),
    ],
)
def test_what_is_missing_is_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], told: Coded
) -> None:
    installed(monkeypatch, versions)
    with refused(EngineUnavailable, told):
        DuckdbEngine().require()
    (listed,) = (info for info in catalogue() if info.name == "duckdb")
    assert (listed.available, listed.ciphers) == (False, ())
    assert "tdelta[duckdb]" in listed.install


def test_it_is_listed_with_its_ciphers_where_it_is_installed(engine: DuckdbEngine) -> None:
    (listed,) = (info for info in catalogue() if info.name == "duckdb")
    assert (listed.available, listed.version, listed.crypto) == (True, "1.5.5", "openssl")
    assert listed.ciphers == tuple(engine.ciphers)


def test_a_key_and_a_mode_are_given_together_or_not_at_all(engine: DuckdbEngine) -> None:
    plain = engine.options(Path("/t/it's.db"), settings("none"), None)
    assert attach_sql(plain) == "ATTACH '/t/it''s.db' AS twin (STORAGE_VERSION 'v1.5.0')"
    gcm = engine.options(Path("/t/a.db"), settings("aes-256-gcm"), KEY)
    assert attach_sql(gcm) == (
        f"ATTACH '/t/a.db' AS twin (STORAGE_VERSION 'v1.5.0', ENCRYPTION_KEY '{KEY}', ENCRYPTION_CIPHER 'GCM')"
    )
    for cipher, key in (("aes-256-ctr", None), ("none", KEY)):
        with pytest.raises(ValueError, match="key"):
            attach_sql(engine.options(Path("/t/a.db"), settings(cipher), key))


def test_a_file_that_is_only_read_keeps_its_storage(engine: DuckdbEngine) -> None:
    options = engine.options(Path("/t/a.db"), settings("none"), None) | {"read_only": True}
    assert attach_sql(options) == "ATTACH '/t/a.db' AS twin (READ_ONLY)"


def test_temporary_files_are_encrypted_on_every_twin_by_the_module(engine: DuckdbEngine) -> None:
    for cipher in engine.ciphers:
        statements = engine.options(Path("/t/a.db"), settings(cipher), None)["settings"]
        assert "SET autoinstall_known_extensions = false" in statements
        assert "SET temp_directory = '/t/a.db.tmp'" in statements
        load = statements.index("LOAD '/site/x/extensions/v1.5.5/httpfs.duckdb_extension'")
        assert load < statements.index("SET temp_file_encryption = true")
        assert ("SET force_mbedtls_unsafe = true" in statements) is cipher.endswith("mbedtls")


def test_no_key_is_in_what_is_shared_or_told(engine: DuckdbEngine) -> None:
    options = engine.options(Path("/t/a.db"), settings("aes-256-gcm"), KEY)
    assert not any(KEY in statement for statement in options["settings"])


@pytest.mark.parametrize(
    ("cipher", "found", "wrong"),
    [
        ("none", PLAIN, ()),
        ("aes-256-gcm", GCM, ()),
        ("aes-256-ctr", GCM, ("cipher", "GCM", "CTR")),
        ("aes-256-gcm", PLAIN, ("encrypted", "cipher", "GCM", "header")),
        ("none", GCM, ("encrypted", "cipher", "header")),
        ("aes-256-gcm-mbedtls", GCM, ("crypto", "openssl", "mbedtls")),
        ("aes-256-gcm", {**GCM, "crypto": "none"}, ("crypto", "none", "openssl")),
        ("none", {**PLAIN, "temp_file_encryption": "false"}, ("temp_file_encryption", "false", "true")),
        ("aes-256-gcm", {**GCM, "header": "plain"}, ("header", "plain", "hidden")),
    ],
)
def test_a_cipher_that_is_not_in_force_is_told(
    engine: DuckdbEngine, cipher: str, found: dict[str, str], wrong: tuple[str, ...]
) -> None:
    fault = engine.fault(settings(cipher), found)
    assert (fault is None) is (not wrong)
    assert all(word in str(fault) for word in wrong)


def test_the_limit_of_memory_holds_the_cache_and_the_queries_work() -> None:
    assert DuckdbEngine.working_mib(1, 2) == 160
    working = DuckdbEngine.working_mib(8, 2)
    assert DuckdbSettings("none", cache_bytes=100 * 2**20 + 1, working_mib=working).memory_mib == 96 + 8 * 32 + 101


def test_a_session_has_as_much_memory_as_is_said_and_threads_as_have_room_in_it() -> None:
    assert DuckdbEngine.working_mib(2, 4, 64 << 20) == 2 * 64
    assert [DuckdbEngine.engine_threads(4, mib << 20) for mib in (0, 1, 32, 64, 1024)] == [4, 1, 1, 2, 4]


def test_a_scope_says_whether_temporary_files_are_encrypted(engine: DuckdbEngine) -> None:
    for scope, wanted in (("", "true"), ("none", "false"), ("data", "false"), ("+temp", "true")):
        of = dataclasses.replace(settings("aes-256-gcm"), scope=scope)
        statements = engine.options(Path("/t/a.db"), of, KEY)["settings"]
        assert f"SET temp_file_encryption = {wanted}" in statements
        assert engine.fault(of, {**GCM, "temp_file_encryption": wanted}) is None
        other = "false" if wanted == "true" else "true"
        assert engine.fault(of, {**GCM, "temp_file_encryption": other}) is not None


def test_texts_and_names_are_written_whatever_is_in_them() -> None:
    assert (literal("it's"), quoted('a "b"')) == ("'it''s'", '"a ""b"""')
