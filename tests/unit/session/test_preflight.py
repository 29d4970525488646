import os
import resource
from dataclasses import replace
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta import _native
from tdelta.design import parse_vary
from tdelta.engines.duckdb.engine import DuckdbEngine
from tdelta.errors import EnvironmentFault, StorageFault, UsageError
from tdelta.session import RunRequest, conduct, dry_run
from tdelta.session.housing import resource_estimate
from tdelta.session.run_plan import Plan, check, plan

from .served import engine, installed

SWEEP = {"cipher": ("aes-256",), "threads": (1, 4, 16), "cache": (0.1, 1.2)}


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)


def made(**options: object) -> Plan:
    given = {"engine": "mariadb", "workload": "point-select", "seed": 1, "aa_control": False, "scope": "data"}
    return plan(RunRequest(**{**given, **options}), "r1")


def needs(**options: object):
    of = made(**options)
    return of.engine.estimate(of)


def test_an_embedded_run_takes_a_file_for_each_condition() -> None:
    one = needs(engine="sqlite", scope=None, size_bytes=100_000_000)
    three = needs(engine="sqlite", scope=None, size_bytes=100_000_000, vary={**SWEEP, "cache": (0.1,)})
    assert one.disk_bytes == pytest.approx(100e6 * (2 + 2 * 1.3), rel=0.01)
    assert three.disk_bytes == pytest.approx(100e6 * (2 + 6 * 1.3), rel=0.01)
    assert one.open_files == 0


def test_the_histograms_of_thousands_of_statements_are_in_what_is_announced() -> None:
    few = made(engine="sqlite", scope=None)
    (transaction,) = few.workload.transactions
    assert few.workload.most_spans >= 2
    many = replace(
        few, workload=replace(few.workload, transactions=(replace(transaction, text="SELECT 1;\n" * 10_000),))
    )
    added = resource_estimate(many).memory_bytes - resource_estimate(few).memory_bytes
    assert added == len(few.conditions) * (
        _native.histograms_bytes(10_002) - _native.histograms_bytes(few.workload.most_spans)
    )
    assert 10e6 < _native.histograms_bytes(10_002) / (os.cpu_count() or 1) < 130e6


@pytest.mark.parametrize("asked", ["encrypt", "rekey", "decrypt"])
def test_a_rewrite_takes_its_copies_beside_the_files(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckdbEngine, "require", lambda _self: None)
    of = {"scope": None, "size_bytes": 100_000_000}
    opened, rewritten = (needs(engine="sqlite", vary={"work": (work,)}, **of) for work in ("restart", asked))
    assert rewritten.disk_bytes == opened.disk_bytes + 300_000_000
    opened, copied = (needs(engine="duckdb", vary={"work": (work,)}, **of) for work in ("restart", asked))
    assert copied.disk_bytes == opened.disk_bytes + 130_000_000


@pytest.mark.parametrize("asked", ["encrypt", "decrypt", "alter", "rekey"])
def test_plain_twins_that_are_converted_have_keys_and_disk_for_a_copy(asked: str) -> None:
    plain, converted = (made(vary={"during": (level,)}) for level in ("throttle", asked))
    assert {plain.twin_settings(c, 0).becomes for c in plain.conditions} == {""}
    assert {converted.twin_settings(c, 0).becomes for c in converted.conditions} == {"aes-256"}
    few, many = (of.engine.estimate(of) for of in (plain, converted))
    assert many.disk_bytes > few.disk_bytes


def test_conditions_that_share_a_server_share_its_disk_and_its_cache() -> None:
    alone, sharing = needs(vary={**SWEEP, "threads": (16,)}), needs(vary=SWEEP)
    assert sharing.disk_bytes == alone.disk_bytes
    assert alone.memory_bytes < sharing.memory_bytes < 1.5 * alone.memory_bytes


def test_a_server_takes_its_own_disk_and_memory_beside_the_data() -> None:
    size = 1_000_000
    empty = engine().resources
    found = needs(size_bytes=size)
    assert found.disk_bytes > 4 * empty.disk_bytes  # two loads, two twins
    assert found.disk_bytes < 4 * (empty.disk_bytes + 2 * size)
    mysql = needs(engine="mysql", size_bytes=size)
    assert mysql.memory_bytes > 2 * 530_000_000 > found.memory_bytes


@pytest.mark.parametrize(
    ("workload", "table_bytes"),
    [("point-select", 120_832_000), ("order-entry", 193_987_000)],  # InnoDB, of 100 MB asked for
)
def test_tables_are_counted_as_servers_hold_them(workload: str, table_bytes: int) -> None:
    empty = engine().resources
    data = needs(workload=workload, size_bytes=100_000_000).disk_bytes / 4 - empty.disk_bytes
    assert table_bytes < data < 1.35 * table_bytes


def test_each_connection_takes_memory_and_is_an_open_file() -> None:
    few, many = (needs(threads=threads) for threads in (1024, 2048))
    assert many.memory_bytes - few.memory_bytes > 1024 * 2 * engine().resources.connection_bytes
    assert (few.open_files, many.open_files) == (1000 + 1024 + 8, 1000 + 2048 + 8)


def test_more_connections_than_open_files_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    request = made(threads=64).request.replace(directory=tmp_path / "twins", store=tmp_path / "runs.sqlite")
    with refused(EnvironmentFault, "open-files-too-few", needed=1072, found=1024):
        conduct(request, lambda _: None)
    assert not (tmp_path / "twins").exists()


def test_a_study_at_its_published_size_says_what_it_would_take(tmp_path: Path) -> None:
    request = RunRequest(study="read-only-sweep", study_size="published", seed=1, directory=tmp_path)
    outlook = dry_run(request)
    assert outlook.disk_bytes > 8 * 43.4e9  # two loads; plain, A/A and encrypted twins at two sizes of cache
    assert outlook.memory_bytes > 3 * 1.2 * 43.4e9
    assert outlook.seconds_at_least > 2 * 4 * 66 * 300
    assert len(outlook.conditions) == 2 * 11 * 3
    assert not list(tmp_path.iterdir())


def test_a_study_at_its_published_size_is_refused_where_the_disk_is_small(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tdelta.measure.space.free_disk_bytes", lambda _: 100 * 10**9)
    given = {"study": "read-only-sweep", "study_size": "published", "directory": tmp_path, "store": tmp_path / "s"}
    with refused(StorageFault, "disk-too-small", folder=tmp_path, found=Part("100")):
        conduct(RunRequest(**given), lambda _: None)


@pytest.mark.parametrize(
    ("vary", "most"),
    [
        (["threads=" + ",".join(map(str, range(1, 102)))], 100),
        (["threads=" + ",".join(map(str, range(1, 100_000)))], 100),
        (
            [f"threads={','.join(map(str, range(1, 101)))}", f"cache={','.join(f'{n}%' for n in range(1, 12))}"],
            1000,
        ),
    ],
)
def test_too_many_levels_are_refused_before_anything_is_done_for_each(vary: list[str], most: int) -> None:
    with refused(UsageError, "too-many", most=most):
        parse_vary(vary)


def test_too_many_levels_of_a_request_made_in_python_are_refused_too() -> None:
    with refused(UsageError, "too-many", what=Part("threads")):
        check(RunRequest(vary={"threads": tuple(range(1, 102))}))
