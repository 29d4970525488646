"""Runs that an earlier version began: their facts are the state of this one, and they can be resumed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from tdelta_fake_perf import install

from tdelta.errors import StoreError
from tdelta.evidence import FileClass, MarkerHit
from tdelta.inference.pages import PageFloor
from tdelta.records import FileEvidence
from tdelta.session.older import state_of_facts
from tdelta.session.state import STATE, RunState
from tdelta.store import Store, decode, encode
from tdelta_refused import refused

from .conducting import Sitting, check
from .test_conduct import NEVER_PRECISE, press_ctrl_c, rows_that_differ
from .test_profiling import REPORTS
from .test_timing import calls

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "stored" / "facts.json").read_text())
"""What an interrupted run with a profile and timed calls had among its facts, before there was a state."""

PLAIN, AES = "cipher=none,threads=1", "cipher=aes-256,threads=1"


def as_facts(state: RunState) -> dict[str, Any]:
    """As an earlier version kept it."""
    found = encode(state)
    found["evidence"] = [{"condition": key, "found": files} for key, files in found["evidence"].items()]
    conditions = found["profile"]["conditions"]
    found["profile"]["conditions"] = [{"condition": key, **sampled} for key, sampled in conditions.items()]
    names = {
        "calibration key": "key",
        "calibration": "trial_size",
        "observed ciphers": "ciphers",
        "page floors": "floors",
        "checks": "twins",
        "page prices": "unit_costs",
        "timed calls": "timed_calls",
        "cpu profiles": "profile",
    }
    same = ("fingerprint", "library", "database", "evidence")
    return {**{name: found[name] for name in same}, **{fact: found[name] for fact, name in names.items()}}


def test_facts_of_an_earlier_version_are_the_state_of_this_one() -> None:
    state = decode(RunState, state_of_facts(FACTS))
    assert state.trial_size is not None
    assert state.trial_size.operations == {0: 1470}
    assert state.key is not None
    assert state.key.library == state.library
    assert state.twins.facts == {0: (PLAIN, {"page_size": "4096", "journal_mode": "wal"})}
    assert state.floors is not None
    assert state.floors.floors == {AES: PageFloor(1.0, 2.0, "a fake cipher, 4096 bytes")}
    assert state.evidence[PLAIN][0] == MarkerHit("fake.db", FileClass.DATABASE, 3_000_000, 32)
    assert [trial.operations for trial in state.timed_calls[AES].trials] == [1470] * 4
    assert state.profile is not None
    assert state.profile.conditions[PLAIN].operations == 23_520
    assert state.ciphers == {"aes-256": "AES-256-CBC 6,308 times"}
    assert [list(cost) for cost in state.unit_costs[AES]] == [["fault"]]


def test_a_state_that_is_kept_is_the_same_when_it_is_read(sitting: Sitting) -> None:
    sitting.conduct()
    state = decode(RunState, state_of_facts(FACTS))
    with Store.open(sitting.store) as store:
        state.keep(store, store.resolve("last"))
    assert sitting.state() == state


def test_a_run_that_nothing_is_known_of_has_an_empty_state() -> None:
    assert decode(RunState, state_of_facts({"part of a calibration": True})) == RunState()


def test_functions_that_versions_between_told_apart_are_one_again() -> None:
    older = copy.deepcopy(FACTS)
    for name in ("is_given_up", "has_kernel", "follows_threads", "pass_seconds"):
        del older["cpu profiles"][name]
    for condition in older["cpu profiles"]["conditions"]:  # spinning samples, and how long CPUs overlapped
        condition["at_work_ns"] = [1, 2]
        condition["rounds"] = {"0": {"operations": 1, "cpu_ns": {"spinning": 1}}}
        first = condition["functions"][0]
        condition["functions"].append({**first, "samples": 1, "cpu_ns": 0, "is_spinning": True})
        first["samples"] -= 1
    expected, found = (decode(RunState, state_of_facts(facts)).profile for facts in (FACTS, older))
    assert expected is not None
    assert found is not None
    assert found.conditions == expected.conditions
    assert (found.is_given_up, found.follows_threads) == (True, True), "it has samples of one round, and no more"


def test_a_run_that_an_earlier_version_began_is_resumed_on_what_it_knew(
    sitting: Sitting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    install(tmp_path / "bin", monkeypatch, REPORTS)
    differing = rows_that_differ(from_trial=1)
    script: dict[str, Any] = {"cost_ns": NEVER_PRECISE, "before_trial": press_ctrl_c(at_stream=2), "calls": calls}
    sitting.scripted(rows=differing, **script).conduct(profile=True)
    before = sitting.state()
    with Store.open(sitting.store) as store:
        run_id = store.resolve("last")
        for fact, value in as_facts(before).items():
            store.put_fact(run_id, fact, value)
        with store._transaction() as db:
            db.execute("DELETE FROM run_facts WHERE key = ?", (STATE,))
            db.execute("DELETE FROM seals")
    before.data_bytes.clear()  # no earlier version knew it
    assert sitting.state() == before
    again = Sitting(sitting.base)
    result = again.resume()
    assert again.size() == before.trial_size
    assert not any(twin.searched for twin in again.twins.started)
    assert {one.condition.key for one in result.of(FileEvidence)} == before.evidence.keys()
    assert not check(result, "rows-after").ok


def test_facts_that_no_version_wrote_are_named(sitting: Sitting) -> None:
    with refused(StoreError, "record-incomplete", where="RunState.trial_size"):
        decode(RunState, state_of_facts({"calibration": {"operations": {"0": 1}}}))
