import json
from dataclasses import replace
from pathlib import Path

import pytest

from support import samples as s
from tdelta.processes.files import default_templates
from tdelta.records import Measurement, Trial
from tdelta.records.kept import RunKind
from tdelta.store import Store
from tdelta.store.summaries import KIND

from .calling import Called, call

PILOT = "20260101-bbbb"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "runs.sqlite"
    run = s.undecided()
    with Store.open(path) as opened:
        opened.create_run(run.settings, run.machine, run.versions)
        measured = Measurement(operations=10, elapsed_ns=10**6, transactions={}, statements={})
        opened.add_trial(s.RUN_ID, Trial(0, 0, 0, s.PLAIN, "t0", 1e9, measured))
        opened.finish(s.RUN_ID, run)
        pilot = replace(run.settings, run_id=PILOT)
        opened.create_run(pilot, run.machine, run.versions, {KIND: RunKind.PILOT})
    return path


def asked(store: Path, *words: str) -> Called:
    return call("runs", *words, "--store", str(store))


def listed(store: Path, *words: str) -> dict[str, object]:
    return json.loads(asked(store, *words, "--json").out)


def listed_ids(store: Path, *words: str) -> list[str]:
    return [run["run_id"] for run in listed(store, *words)["runs"]]


def test_the_list_has_runs_and_says_how_many_pilots_are_not_in_it(store: Path) -> None:
    assert listed_ids(store) == [s.RUN_ID]
    assert listed(store)["aside"] == {"pilot": 1, "calibration": 0, "imported": 0}
    assert listed_ids(store, "--kind", "all") == [PILOT, s.RUN_ID]
    text = asked(store).out
    assert s.RUN_ID in text
    assert PILOT not in text
    assert "1 pilot" in text


def test_a_line_has_what_a_run_is_known_by(store: Path) -> None:
    asked(store, "label", "last", "v1")
    (run,) = listed(store)["runs"]
    assert (run["engine"], run["labels"], run["decision"], run["kind"]) == ("sqlite", ["v1"], "undecided", "run")
    assert len(run["ratios"]) == len([v for v in s.undecided().verdicts if v.primary])
    assert run["size_bytes"] > 0


@pytest.mark.parametrize(
    ("words", "is_listed"),
    [
        (("--engine", "sqlite"), True),
        (("--engine", "mariadb"), False),
        (("--verdict", "undecided", "--verdict", "slower"), True),
        (("--verdict", "slower"), False),
        (("--verdict", "slower", "--verdict", "More-CPU", "--verdict", "over budget"), False),
        (("--label", "v1"), True),
        (("--label", "v2"), False),
        (("--study", "nothing"), False),
        (("--since", "1d"), True),
        (("--most", "1"), True),
    ],
)
def test_the_list_is_filtered(store: Path, words: tuple[str, ...], is_listed: bool) -> None:
    asked(store, "label", "last", "v1")
    assert listed_ids(store, *words) == [s.RUN_ID] * is_listed


def test_an_answer_is_asked_for_by_the_word_that_is_printed(store: Path) -> None:
    with Store.open(store) as opened:
        opened.finish(s.RUN_ID, s.slower())
    assert listed_ids(store, "--verdict", "slower") == [s.RUN_ID]
    assert listed_ids(store, "--verdict", "more-cpu") == []


def test_an_answer_that_there_is_not_is_a_usage_error(store: Path) -> None:
    assert asked(store, "--verdict", "dearer").code == 2


def test_a_labelled_run_is_shown_by_its_label(store: Path) -> None:
    assert asked(store, "label", "last", "v1", "release").code == 0
    assert call("show", "release", "--store", str(store)).code == 3
    (run,) = listed(store, "label", "last", "--remove", "release")["runs"]
    assert run["labels"] == ["v1"]


def test_neither_label_nor_remove_is_a_usage_error(store: Path) -> None:
    done = call("runs", "label", "last", "--store", str(store), "--json")
    assert (done.code, json.loads(done.out)["refusals"][0]["code"]) == (2, "requires")


def test_a_note_is_kept_and_listed(store: Path) -> None:
    assert asked(store, "note", "last", "before the new disks").code == 0
    assert "before the new disks" in asked(store).out


def test_a_run_is_removed_after_it_was_said_which(store: Path) -> None:
    would = listed(store, "remove", "last", "--dry-run")
    assert (would["removed"], listed_ids(store)) == (False, [s.RUN_ID])
    done = listed(store, "remove", "last")
    assert (done["removed"], done["compacted"], [run["run_id"] for run in done["runs"]]) == (True, True, [s.RUN_ID])
    assert listed_ids(store, "--kind", "all") == [PILOT]


def test_pruning_without_a_limit_removes_loaded_data_alone(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = default_templates().kept("one", 4096, {}, lambda folder: folder.joinpath("rows").touch())
    assert kept is not None
    kept.close()
    assert listed(store, "prune", "--dry-run")["loaded_data_bytes"] > 0
    pruned = listed(store, "prune")
    assert pruned["runs"] == []
    assert pruned["loaded_data_bytes"] > 0
    assert default_templates().taken("one") is None


def test_pruning_keeps_what_has_a_label(store: Path) -> None:
    asked(store, "label", "last", "v1")
    pruned = listed(store, "prune", "--larger-than", "1B")
    assert [run["run_id"] for run in pruned["runs"]] == [PILOT]
    assert listed_ids(store, "--kind", "all") == [s.RUN_ID]


def test_a_damaged_run_is_listed_as_such(store: Path) -> None:
    with Store.open(store) as opened:
        opened._db.execute("UPDATE runs SET seed = seed + 1 WHERE run_id = ?", (PILOT,))
    found = listed(store)
    assert ([run["run_id"] for run in found["runs"]], [one["run_id"] for one in found["damaged"]]) == (
        [s.RUN_ID],
        [PILOT],
    )
    assert PILOT in asked(store).out


def test_no_store_is_a_usage_error_that_makes_none(tmp_path: Path) -> None:
    assert asked(tmp_path / "none.sqlite").code == 2
    assert list(tmp_path.iterdir()) == []
