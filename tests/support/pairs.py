"""Tests for the replica of any private server: at every level, compared with its primary, and lost."""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import ClassVar

import pytest

from support.runs import place_of, processes_at
from tdelta.design.factors import REPLICATIONS
from tdelta.engines.server.base import DATABASE
from tdelta.engines.server.driver import PrivateDriver
from tdelta.engines.server.private_twin import PrivateTwin
from tdelta.engines.server.sessions import Session, admin_session
from tdelta.errors import ServerLost
from tdelta.processes import TrialJob, TwinFolder
from tdelta.records import Measurement
from tdelta.records.trials import APPLY_NS, CONFIRMED, CPU_NS, LAG_BYTES, LAG_NS, LOG_BYTES, UNCONFIRMED
from tdelta.session import RunRequest
from tdelta.session.run_plan import plan

OPERATIONS = 30
ROW_BYTES = 180
FOLLOWED = {LOG_BYTES, LAG_BYTES, LAG_NS, CPU_NS}
OF_TABLES = (("sbtest1", ("id", "k", "c", "pad")),)

Levels = Mapping[str, PrivateTwin]


class Pairs:
    """The tests.

    ``counts`` says whether the engine counts commits that waited, ``held_back`` has a replica apply each two seconds
    after it was made, by the primary's clock of whole seconds, and ``let_go`` at once again.
    """

    engine: ClassVar[str]
    counts: ClassVar[bool] = True
    held_back: ClassVar[str] = ""
    let_go: ClassVar[str] = ""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Levels]:
        """A plain primary and its replica; nothing of them may be left."""
        base = tmp_path_factory.mktemp("pair")
        vary = {"replication": REPLICATIONS}
        given = {
            "workload": "insert",
            "size_bytes": 500_000,
            "aa_control": False,
            "seed": 1,
            "vary": vary,
            "inject": [0.1],
        }
        binary = place_of(cls.engine, base).program
        of = plan(RunRequest(engine=cls.engine, server_binary=binary, **given), "r1")
        settings = {str(c.level("replication")): of.twin_settings(c, 0) for c in of.conditions}
        assert isinstance(of.engine, PrivateDriver)
        with TwinFolder(base, "r1") as folder, ExitStack() as stack:
            twins = of.engine.make_twins(folder, of.populate_job(), of.workload_spec())
            stack.callback(twins.end)
            twins.load(settings["none"])
            levels = {"none": twins.start(settings["none"], "twin")}
            levels |= {level: twins.join(levels["none"], settings[level]) for level in ("async", "semisync")}
            for twin in levels.values():
                stack.callback(twin.end)
            yield levels
        assert processes_at(base) == []
        assert not [*base.rglob("*")]

    def trial(self, pair: Levels, level: str, number: int) -> Measurement:
        job = TrialJob(1, number, OPERATIONS, 1 + number * OPERATIONS, deadline_seconds=60.0)
        return pair[level].trial(job)

    def test_a_replica_applies_all_at_every_level_and_nothing_of_one_is_left_to_the_next(self, pair: Levels) -> None:
        found = {level: self.trial(pair, level, number) for number, level in enumerate(REPLICATIONS)}
        counted = {level: one.engine_counters for level, one in found.items()}
        assert counted["none"].keys() >= {LOG_BYTES, APPLY_NS, CPU_NS}
        assert counted["async"].keys() >= FOLLOWED <= counted["semisync"].keys()
        assert LAG_NS not in counted["none"]
        assert APPLY_NS not in counted["async"]
        for level, counters in counted.items():
            assert counters[LOG_BYTES] > OPERATIONS * ROW_BYTES, level
            assert counters[CPU_NS] > 0
            assert found[level].stopped_by == "count"
        if self.counts:
            assert (counted["semisync"][CONFIRMED], counted["semisync"][UNCONFIRMED]) == (OPERATIONS, 0)
        assert CONFIRMED not in counted["async"]
        of_primary = pair["none"].checksums(OF_TABLES)
        assert of_primary == pair["none"].replica_checksums(OF_TABLES)
        assert of_primary["sbtest1"][0] > len(REPLICATIONS) * OPERATIONS

    def test_the_lag_of_a_replica_that_is_held_back_is_found(self, pair: Levels) -> None:
        """Seconds are whole there, so that two of them may be little more than one."""
        if not self.held_back:
            pytest.skip("what has this engine's replica apply later is how it is made to receive only")
        with self.replica(pair) as session:
            session.run(self.held_back)
        held_back = self.trial(pair, "async", 7).engine_counters
        with self.replica(pair) as session:
            session.run(self.let_go)
        assert held_back[LAG_NS] > 0.9e9
        assert held_back[LAG_BYTES] > 0

    @contextmanager
    def replica(self, pair: Levels) -> Iterator[Session]:
        """A session with the replica, which rests."""
        instance = pair["none"].instance
        assert instance.replica is not None
        with instance.awake():
            asking = admin_session({**instance.replica.server.recipe.connect, "database": DATABASE})
            yield asking
            asking.close()

    def test_commits_that_wait_for_a_replica_that_dies_are_not_waited_for(self, pair: Levels) -> None:
        """The last test of its class: the replica is gone then."""
        replica = pair["none"].instance.replica
        assert replica is not None
        job = TrialJob(1, 9, OPERATIONS, 1 + 9 * OPERATIONS, deadline_seconds=60.0)
        with pytest.raises(ServerLost, match="twin-replica"):
            pair["semisync"].trial(job, ready=lambda: os.kill(replica.server.pid, signal.SIGKILL))
