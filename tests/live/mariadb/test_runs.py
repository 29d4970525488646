from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from support.runs import (
    ALONE,
    ServerPlace,
    ServerRuns,
    check_cipher_lines,
    check_instructions,
    check_load_of_others,
    failed_checks,
    occupied,
    states,
)
from tdelta.messages.checks import IN_FORCE


class TestMariadbRuns(ServerRuns):
    engine = "mariadb"
    log = "redo log"
    factors = MappingProxyType({"threads": (1, 4), "cache": (0.1, 1.2)})
    options = ("--vary", "threads=1,4", "--vary", "cache=10%,120%", "--scope", "data", "--size", "20MB")

    def test_conditions_that_only_the_client_sees_share_a_server(self, swept: tuple[ServerPlace, Any]) -> None:
        instances: dict[str, set[tuple[str, float]]] = {}
        for trial in swept[0].trials():
            instances.setdefault(trial["instance"], set()).add((trial["cipher"], trial["cache"]))
        assert len(instances) == 4
        assert all(len(found) == 1 for found in instances.values())

    def test_misses_follow_the_cache(self, swept: tuple[ServerPlace, Any]) -> None:
        trials = swept[0].trials()
        missed = {
            (cipher, cache): sum(
                trial["engine_counters"]["buffer_reads"]
                for trial in trials
                if (trial["cipher"], trial["cache"]) == (cipher, cache)
            )
            for cipher in ("none", "aes-256")
            for cache in (0.1, 1.2)
        }
        assert all(missed[cipher, 0.1] > missed[cipher, 1.2] for cipher in ("none", "aes-256"))

    @pytest.fixture(scope="class")
    @classmethod
    def loaded(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerPlace, Any]]:
        """A run of sysbench on everything encrypted, all of it cached."""
        for place in occupied(cls.engine, tmp_path_factory.mktemp("loaded")):
            load = ("--load-generator", "sysbench oltp_point_select --tables=1 --table-size=9000 run")
            yield place, place.measured(*ALONE, "--size", "2MB", *load)

    def test_a_tool_of_others_is_the_load(self, loaded: tuple[ServerPlace, Any]) -> None:
        check_load_of_others(*loaded)

    def test_the_answer_names_the_cipher_in_use_where_it_is_not_the_requested_one(
        self, loaded: tuple[ServerPlace, Any]
    ) -> None:
        """MariaDB derives a key of 128 bits for its pages, whatever the key it is given."""
        document = loaded[1]
        (check,) = [c for c in document["validity"] if c["code"] == IN_FORCE]
        assert (check["state"], check["makes_invalid"]) == ("failed", False)
        assert document["ciphers_in_force"] == {"aes-256": "AES-128-CBC"}
        assert document["decision"] == "undecided"
        assert document["barely_encrypted"]
        shown = loaded[0].tdelta("show").out
        assert "AES-128-CBC is in use, not AES-256 as requested" in " ".join(shown.split())
        assert len(shown.splitlines()) <= 30

    @pytest.fixture(scope="class")
    @classmethod
    def cold(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerPlace, Any]]:
        """A run whose servers are started anew before each trial, each shared by two conditions."""
        for place in occupied(cls.engine, tmp_path_factory.mktemp("cold")):
            options = ("--cold", "--workload", "scan", "--size", "2MB", "--vary", "scope=data,+log")
            yield place, place.measured(*ALONE, *options, "--vary", "threads=1,2")

    def test_each_scope_of_a_run_with_cold_caches_covers_what_it_says(self, cold: tuple[ServerPlace, Any]) -> None:
        place, document = cold
        assert failed_checks(document) == []
        found = {scope: states(document, scope=scope)["redo log"] for scope in ("none", "data", "+log")}
        assert found == {"none": "plain", "data": "uncovered", "+log": "encrypted"}
        assert all(trial["operations"] == trial["threads"] for trial in place.trials()), "the second would be warm"
        # A server that was started a moment ago has to read what it is asked for; on warm caches of this size nothing.
        assert all(trial["engine_counters"]["buffer_reads"] > 0 for trial in place.trials())
        decrypted = {trial["scope"]: trial["engine_counters"]["pages_decrypted"] > 0 for trial in place.trials()}
        assert decrypted == {"none": False, "data": True, "+log": True}

    def test_every_encrypted_condition_has_its_pages_in_the_cost_breakdown(self, cold: tuple[ServerPlace, Any]) -> None:
        assert all(us > 0 for us in check_cipher_lines(cold[1]))

    def test_restarts_for_cold_caches_do_not_cut_off_another_condition_on_the_same_server(
        self, cold: tuple[ServerPlace, Any]
    ) -> None:
        place, document = cold
        assert document["errors"] == {}
        trials = place.trials()
        assert {trial["threads"] for trial in trials} == {1, 2}
        assert len({trial["instance"] for trial in trials}) == 3, "else nothing is shared"

    def test_every_server_shows_whether_it_uses_the_instructions(self, place: ServerPlace) -> None:
        check_instructions(place.measured(*ALONE, "--size", "2MB", "--vary", "aes_instructions=on,off"))

    @pytest.fixture(scope="class")
    @classmethod
    def acted(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerPlace, Any]]:
        """A run whose plain twins are encrypted under load, or throttled by as much as was injected."""
        acts = "during=encrypt,rekey,throttle:percent=40:seconds=1,throttle:seconds=1"
        for place in occupied(cls.engine, tmp_path_factory.mktemp("acted")):
            yield place, place.measured(*ALONE, "--size", "2MB", "--vary", acts, "--vary", "cipher=aes-128")

    def test_a_twin_is_encrypted_beside_its_load_and_plain_again_before_the_next_trial(
        self, acted: tuple[ServerPlace, Any]
    ) -> None:
        place, document = acted
        assert failed_checks(document) == []
        measure = next(one for one in document["actions"] if one["action"] == "encrypt")
        assert measure["condition"] == {"cipher": "none", "during": "encrypt", "threads": 1}
        trials = [trial for trial in place.trials() if trial["during"] == "encrypt"]
        assert len(trials) == measure["trials"] > 1
        assert all(trial["engine_counters"]["action_tablespaces"] > 0 for trial in trials), "none was plain"
        others = [trial for trial in place.trials() if trial["during"] == "nothing"]
        assert not any("action_ns" in trial["engine_counters"] for trial in others)

    def test_pages_that_were_free_stay_in_the_clear_after_background_encryption_and_not_after_a_rebuild(
        self, acted: tuple[ServerPlace, Any]
    ) -> None:
        found = {
            (measure["action"], one["file_class"]): one for measure in acted[1]["actions"] for one in measure["left"]
        }
        assert found["encrypt", "tables"]["there"] == 0 < found["encrypt", "tables"]["deleted"]
        assert found["rekey", "tables"]["there"] == found["rekey", "tables"]["deleted"] == 0
        assert found["encrypt", "redo log"]["deleted"] > 0, "the redo log is switched at a start only"

    def test_an_injected_harm_is_found_inside_its_interval_and_none_where_none_was_injected(
        self, acted: tuple[ServerPlace, Any]
    ) -> None:
        found = {measure["action"]: measure for measure in acted[1]["actions"]}
        for action in ("throttle:percent=40:seconds=1", "throttle:seconds=1"):
            stopped = found[action]["counted"]["stopped_ns"] / 1e9 / found[action]["seconds"]["median"]
            low, high = found[action]["while_ratio"]["hdi99"]
            assert low <= 1 / (1 - stopped) <= high, action

    def test_a_server_that_is_started_anew_or_after_a_crash_answers_and_has_its_rows(self, place: ServerPlace) -> None:
        document = place.measured(*ALONE, "--size", "2MB", "--vary", "work=restart,recovery:mb=1,storm:connections=20")
        assert failed_checks(document) in ([], [IN_FORCE])
        found = {measure["action"]: measure["counted"] for measure in document["actions"]}
        assert found["restart"]["start_ns"] > 0 < found["restart"]["stop_ns"]
        assert found["recovery:mb=1"]["log_behind_bytes"] > 0
        assert found["storm:connections=20"]["connections"] == 21
