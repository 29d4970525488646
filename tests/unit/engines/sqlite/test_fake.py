"""The fakes are like the real ones, and do as they are told."""

import inspect
from pathlib import Path

import pytest

from support.fake_twins import FakeTwin, FakeTwins, Script, cost_by_cipher
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
