from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from support.codes import details
from support.refused import check_messages
from support.runs import ALONE, ServerPlace, failed_checks, occupied, states
from tdelta.design.factors import REPLICATIONS
from tdelta.messages.checks import REPLICAS

SMALL = ("--workload", "insert", "--size", "2MB", "--trial-time", "0.2s", "--blocks", "2", "--rounds", "1..1", *ALONE)


class ReplicatedRuns:
    engine: ClassVar[str]
    hidden: ClassVar[tuple[str, ...]]
    options: ClassVar[tuple[str, ...]] = ()

    @pytest.fixture(scope="class")
    @classmethod
    def ran(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerPlace, Any]]:
        for place in occupied(cls.engine, tmp_path_factory.mktemp("replicated")):
            vary = ("--vary", f"replication={','.join(REPLICATIONS)}")
            yield place, place.tdelta("run", "--json", *place.options(*SMALL, *vary, *cls.options)).answer

    def test_replicas_are_their_primaries_replicas(self, ran: tuple[ServerPlace, Any]) -> None:
        place, document = ran
        assert failed_checks(document) == []
        check_messages(details(document, REPLICAS), "replicas-compared", replicas=2)
        assert place.left() == []

    def test_every_level_shows_what_its_replica_did(self, ran: tuple[ServerPlace, Any]) -> None:
        place, document = ran
        found = {(one["condition"]["cipher"], one["mode"]): one for one in document["replication"]}
        assert len(found) == 6
        for (_, mode), one in found.items():
            assert (one["apply_rate"] is None) is (mode != "none")
            assert (one["lag_seconds"] is None) is (mode == "none")
            assert one["log_bytes"]["median"] > 200, "a row has nearly that"
            assert one["cpu_seconds"]["median"] > 0
            assert one["unconfirmed"] == 0
        counted = {trial["replication"]: trial["engine_counters"] for trial in place.trials()}
        assert ("replica_confirmed" in counted["semisync"]) is ("replica_confirmed" not in counted["async"])

    def test_what_is_encrypted_on_a_primary_is_on_its_replica(self, ran: tuple[ServerPlace, Any]) -> None:
        _, document = ran
        assert {name: states(document, cipher="none")[name] for name in self.hidden} == dict.fromkeys(
            self.hidden, "plain"
        )
        assert {name: states(document, cipher="aes-256")[name] for name in self.hidden} == dict.fromkeys(
            self.hidden, "encrypted"
        )
        files = {name for one in document["evidence"] for name in one["files"]}
        assert any(name.startswith("replica/") for name in files)
