from dataclasses import replace

import pytest

from support import samples as s
from tdelta.findings.twin_settings import SettingsCompared
from tdelta.records import DatabaseFacts, RunResult
from tdelta.report.subject import subject


def run(
    library: str = "", *, engine: str = "sqlite", shared: dict[str, str] | None = None, **options: object
) -> RunResult:
    given = s.settings()
    given = replace(given, engine=engine, options={**given.options, **options})
    return s.changed(
        s.slower(),
        settings=given,
        versions={"library under test": library} if library else {},
        twin_settings=SettingsCompared(shared or {}, {}, {}),
    )


@pytest.mark.parametrize(
    ("engine", "library", "words"),
    [
        ("sqlite", "SQLite3 Multiple Ciphers 2.6.1, SQLite 3.54.0", "SQLite 3.54.0 (SQLite3 Multiple Ciphers 2.6.1)"),
        ("sqlite", "SQLCipher 4.6.1", "SQLite (SQLCipher 4.6.1)"),
        ("sqlite", "", "SQLite"),
        ("duckdb", "DuckDB 1.5.0", "DuckDB 1.5.0"),
        ("mariadb", "MariaDB 10.11.19", "a private MariaDB 10.11.19 server"),
    ],
)
def test_a_run_is_named_by_its_engine_its_work_its_data_its_cache_and_its_threads(
    engine: str, library: str, words: str
) -> None:
    assert subject(run(library, engine=engine)) == f"{words}, order-entry, 50 MB, 10% cache, 1 thread"


def test_a_factor_of_one_level_is_named_by_it_and_not_by_the_option() -> None:
    sampled = run()
    levels = (("threads", 4), ("cache", 0.5))
    conditions = tuple(replace(one, levels=(*one.levels, *levels)) for one in sampled.settings.conditions)
    with_levels = s.changed(sampled, settings=replace(sampled.settings, conditions=conditions))
    assert subject(with_levels).endswith("50 MB, 50% cache, 4 threads")


@pytest.mark.parametrize(
    ("engine", "shared"),
    [
        ("mariadb", {"innodb_buffer_pool_size": "10485760"}),
        ("postgres", {"shared_buffers": "10MB"}),
        ("postgres", {"shared_buffers": "10240kB"}),
    ],
)
def test_a_cache_that_is_not_as_small_as_was_asked_for_is_named_by_its_size(
    engine: str, shared: dict[str, str]
) -> None:
    assert "50 MB, 10 MiB cache (10% requested)" in subject(run(engine=engine, shared=shared))


def test_a_cache_of_a_size_is_named_by_it() -> None:
    assert "50 MB, 512 MiB cache" in subject(run(cache="512MiB"))


def test_a_cache_in_force_that_is_the_one_asked_for_is_named_as_asked() -> None:
    text = subject(run(engine="mariadb", shared={"innodb_buffer_pool_size": "5242880"}))
    assert "50 MB, 10% cache" in text


def test_a_load_generator_stands_for_the_workload_without_its_options() -> None:
    text = subject(run(engine="mariadb", load_generator="sysbench oltp_read_only --threads=4 --mysql-user=me run"))
    assert "load `sysbench oltp_read_only`" in text
    assert "order-entry" not in text


def test_a_users_database_is_as_large_as_it_is() -> None:
    facts = DatabaseFacts("app.db", 25_270_000, 4096, tables=3, rows=9, proposed=True)
    result = run()
    text = subject(replace(result, settings=replace(result.settings, database=facts)))
    assert "app.db, the proposed workload, 24.10 MiB, 10% cache" in text
