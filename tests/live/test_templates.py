"""Loaded data that outlive their run: copied by the next run of the same work, by no other, and never a user's rows."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.running import server_of
from tdelta.processes import RestoreJob, TrialJob, TwinFolder
from tdelta.processes.templates import Templates
from tdelta.records import Condition
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import Plan, plan

SIZE_BYTES = 500_000
OPERATIONS = 300


@pytest.fixture(params=["mariadb", "mysql", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    server_of(request.param)
    return str(request.param)


@pytest.fixture
def store(tmp_path: Path) -> Templates:
    return Templates(tmp_path / "templates")


def planned(engine: str, seed: int = 1, **options: object) -> tuple[Plan, Condition]:
    given = {"engine": engine, "workload": "point-select", "aa_control": False, "size_bytes": SIZE_BYTES, "seed": seed}
    made = plan(RunRequest(**{**given, **options}), f"r{seed}")
    encrypted = [condition for condition in made.conditions if condition.is_encrypted]
    return made, (encrypted or made.conditions)[0]


def loaded(base: Path, store: Templates, made: Plan, condition: Condition, job: Any = None) -> bool:
    """Have a run load its data and start a twin of them; whether the data came from a template it did not fill."""
    before = {path.name for path in store.root.glob("[0-9a-f]*")}
    with TwinFolder(base, made.settings.run_id, store) as folder, ExitStack() as stack:
        twins = made.engine.make_twins(folder, job or made.populate_job(), made.workload_spec())
        stack.callback(twins.end)
        settings = made.twin_settings(condition, SIZE_BYTES)
        path, sums = twins.load(settings)
        twin = twins.start(settings, "twin")
        stack.callback(twin.end)
        assert sums == twins.expected_checksums() == twin.checksums(made.populate_job().tables)
        assert twins.is_encrypted(path) == condition.is_encrypted
        assert made.engine.fault(settings, twin.cipher_facts()) is None
        return path.parent == store.root and path.name in before


def test_a_second_run_of_the_same_work_loads_nothing(engine: str, store: Templates, tmp_path: Path) -> None:
    assert not loaded(tmp_path, store, *planned(engine, 1))
    assert loaded(tmp_path, store, *planned(engine, 2))
    assert loaded(tmp_path, store, *planned(engine, 3, threads=4))


def test_a_cache_is_filled_as_an_earlier_one_was(engine: str, store: Templates, tmp_path: Path) -> None:
    made, condition = planned(engine, cache=0.5, size_bytes=40 * SIZE_BYTES)
    tables = made.populate_job().tables
    job = TrialJob(1, 0, OPERATIONS, 1, deadline_seconds=60.0)
    with TwinFolder(tmp_path, "r1", store) as folder, ExitStack() as stack:
        twins = made.engine.make_twins(folder, made.populate_job(), made.workload_spec())
        stack.callback(twins.end)
        path, _ = twins.load(made.twin_settings(condition, SIZE_BYTES))
        settings = made.twin_settings(condition, twins.data_bytes(path))
        started = [twins.start(settings, name) for name in ("earlier", "restored", "cold")]
        for twin in started:
            stack.callback(twin.end)
            assert twin.checksums(tables) == twins.expected_checksums()
        earlier, restored, cold = started
        assert restored.restore_cache() is None
        for _ in range(3):
            earlier.trial(job)
        for misses in (0.5, 0.25, 0.75):
            earlier.keep_cache(misses)
        assert restored.restore_cache() == 0.25
        misses = [twin.trial(job).engine_counters["buffer_reads"] for twin in (restored, cold)]
        assert misses[0] < misses[1] / 2 or engine == "mariadb", "which cannot fill an encrypted cache"
        assert restored.checksums(tables) == twins.expected_checksums()
        assert not [*tmp_path.rglob("tdelta_pages"), *tmp_path.rglob("ib_buffer_pool")]


def test_other_work_is_loaded_anew(store: Templates, tmp_path: Path) -> None:
    server_of("mariadb")
    assert not loaded(tmp_path, store, *planned("mariadb"))
    others = (
        {"size_bytes": 2 * SIZE_BYTES},
        {"workload": "order-entry"},
        {"scope": "data"},
        {"vary": {"cipher": ["aes-128"]}},
    )
    assert not any(loaded(tmp_path, store, *planned("mariadb", 2, **other)) for other in others)


def test_a_user_s_rows_are_kept_in_a_store_for_them_alone(store: Templates, tmp_path: Path) -> None:
    server_of("mariadb")
    made, condition = planned("mariadb")
    statements = ("CREATE TABLE t (id INT PRIMARY KEY)", *made.markers().table_sql(made.engine.profile.dialect))
    job = RestoreJob("true", statements, (), {}, made.markers().needles)
    for kept_by, is_kept in ((store, False), (Templates(tmp_path / "decision", of_users=True), True)):
        with TwinFolder(tmp_path, "r1", kept_by) as folder, ExitStack() as stack:
            twins = made.engine.make_twins(folder, job, made.workload_spec())
            stack.callback(twins.end)
            twins.load(made.twin_settings(condition, SIZE_BYTES))
        assert bool(list(kept_by.root.glob("[0-9a-f]*"))) == is_kept
        assert (kept_by.root / "secret").exists() == is_kept
