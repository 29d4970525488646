"""The fakes are like the real ones, and do as they are told."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from support.fake_twins import FakeClock, FakeTwin, FakeTwins, Script, cost_by_cipher
from tdelta.driver import PopulateJob, TrialJob, Twin, TwinFolder, Twins, WorkloadSpec
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.engines.sqlite.twins import SqliteTwin, SqliteTwins

SETTINGS = TwinSettings("none", 4096, "wal", "normal", 0, 1, 1_000_000)
JOB = TrialJob(seed=1, stream=2, operations=100, first_op=1, deadline_seconds=30.0)
LOAD = PopulateJob({}, 1, (), (), (("rows", ("id",)),))


def methods(kind: type) -> dict[str, list[str]]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: list(inspect.signature(f).parameters) for name, f in found if not name.startswith("_")}


@pytest.mark.parametrize(
    ("protocol", "kind"), [(Twin, SqliteTwin), (Twin, FakeTwin), (Twins, SqliteTwins), (Twins, FakeTwins)]
)
def test_real_and_fake_have_every_method_of_the_protocol(protocol: type, kind: type) -> None:
    has = {name: [p.lstrip("_") for p in parameters] for name, parameters in methods(kind).items()}
    for name, parameters in methods(protocol).items():
        assert has[name][: len(parameters)] == parameters, name
    assert len(methods(protocol)) >= 5


@pytest.fixture
def twins(tmp_path: Path) -> FakeTwins:
    with TwinFolder(tmp_path, "r") as folder:
        yield FakeTwins(Script(cost_ns=cost_by_cipher({"none": 1e6}, noise=0.0)))(
            SqliteEngine(), folder, LOAD, WorkloadSpec((), {})
        )


def test_time_passes_only_when_a_fake_works(twins: FakeTwins) -> None:
    twin = twins.start(SETTINGS, "a")
    started = twins.clock()
    measured = twin.trial(JOB)
    assert (started, measured.elapsed_ns, twins.clock() - started) == (0.25, 100_000_000, pytest.approx(0.1))


def test_a_planted_cost_takes_its_share_of_the_cpu_time(twins: FakeTwins) -> None:
    plain = twins.start(SETTINGS, "a").trial(JOB)
    planted = twins.start(SETTINGS, "b").trial(
        TrialJob(seed=1, stream=2, operations=100, first_op=1, deadline_seconds=30.0, planted=0.2)
    )
    assert planted.cpu_seconds / plain.cpu_seconds == pytest.approx(1.2)
    assert planted.elapsed_ns - plain.elapsed_ns == planted.planted.elapsed_ns > 0


def test_a_loaded_file_has_the_size_it_claims(twins: FakeTwins) -> None:
    path, sums = twins.load(SETTINGS)
    assert path.stat().st_size == 3_000_000
    assert sums == twins.expected_checksums()
    assert not twins.is_encrypted(path)


def test_the_instance_effects_of_a_trial_is_drawn_from_its_seed_and_not_from_the_moment() -> None:
    cost = cost_by_cipher({"none": 1e6}, noise=0.1)
    twins = FakeTwins()
    one, other = FakeTwin(twins, SETTINGS, "a"), FakeTwin(twins, SETTINGS, "b")
    assert cost(one, JOB) == cost(one, JOB) != cost(other, JOB)


def test_a_clock_stands_still_by_itself() -> None:
    clock = FakeClock()
    clock.advance(1.5)
    assert [clock(), clock()] == [1.5, 1.5]
