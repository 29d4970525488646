from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support import samples as s
from support import stored as t
from support.reading import read
from support.refused import refused
from tdelta.design.topics import Topic
from tdelta.errors import UsageError
from tdelta.records import DataSize, Decision, EvidenceState, LoopFacts, Metric, Role, RunResult
from tdelta.report.decision import (
    CPUS,
    StoredRun,
    decide,
    newest_of_each_kind,
    stored,
)
from tdelta.report.page.blocks import Paragraph
from tdelta.report.page.decision import TITLES, compose, sentences
from tdelta.report.page.render import render
from tdelta.report.sentence import answer
from tdelta.store import Store


def as_run(result: RunResult, run_id: str, **settings: object) -> StoredRun:
    given = replace(result.settings, run_id=run_id, **settings)  # type: ignore[arg-type]
    return StoredRun(replace(result, settings=given), t.CREATED)


def at_load() -> RunResult:
    """Operations due at 80 % of what plain can do: 1,000 a second, 400 µs of CPU time each on the plain twin."""

    def of(cipher: str, role: Role) -> s.Condition:
        return s.Condition((("cipher", cipher), ("threads", 4), ("at", 0.8)), role)

    plain, encrypted = of("none", Role.BASELINE), of("aes-256", Role.TREATMENT)
    waits = s.verdict(s.estimate(1.9, 0.1), Decision.COSTLY, primary=True, of=encrypted, baseline=plain)
    cpu = replace(
        s.verdict(s.estimate(1.25, 0.02), Decision.COSTLY, of=encrypted, baseline=plain),
        metric=Metric.CPU_PER_OPERATION,
        baseline_value=400.0,
        condition_value=500.0,
    )
    made = s.result(Decision.COSTLY, (waits, cpu), s.settings(plain, encrypted, study="capacity"))
    return replace(made, loop=LoopFacts(90.0, 0.001, arrival_rates={plain.key: 1000.0}))


DAILY = as_run(s.costly(), "20261121-dddd")
SPILLING = as_run(s.spilling(), "20261121-ssss", engine="sqlite", study="spill")
AT_LOAD = as_run(at_load(), "20261121-llll")
CHANGE = as_run(s.acted(), "20261121-cccc", engine="sqlite")
RUNS = (SPILLING, AT_LOAD, DAILY, CHANGE)
IDS = tuple(run.result.settings.run_id for run in RUNS)


def test_every_figure_is_a_verdicts_of_a_stored_run() -> None:
    verdicts = {
        (run.result.settings.run_id, verdict.ratio.median)
        for run in RUNS
        for verdict in run.result.verdicts
        if verdict.transaction == "all"
    }
    lines = decide(RUNS).lines
    assert lines
    assert {(line.run_id, line.ratio.median) for line in lines} <= verdicts
    heads = {(run.result.settings.run_id, v.ratio.median) for run in RUNS for v in run.result.primary}
    assert heads <= {(line.run_id, line.ratio.median) for line in lines}


def test_what_a_verdict_is_about_follows_from_its_action_then_its_load_then_its_study() -> None:
    topics = {run: {line.topic for line in decide(RUNS).lines if line.run_id == run} for run in IDS}
    assert topics["20261121-dddd"] == {Topic.DAILY}
    assert topics["20261121-ssss"] == {Topic.TEMPORARY}
    assert topics["20261121-llll"] == {Topic.CAPACITY}
    assert Topic.CHANGE in topics["20261121-cccc"]


def test_topics_follow_in_their_order_whatever_the_order_of_runs() -> None:
    order = [line.topic for line in decide(RUNS).lines]
    assert order == sorted(order, key=list(Topic).index)


def test_at_a_given_load_cpu_time_is_cpus_busy() -> None:
    (line,) = (line for line in decide([AT_LOAD]).lines if line.unit == CPUS)
    assert (line.rate, line.plain, line.encrypted) == (1000.0, pytest.approx(0.4), pytest.approx(0.5))


def test_the_answer_is_that_of_the_daily_load_and_of_the_owners_database_before_another() -> None:
    own = as_run(s.own_database(), "20261121-oooo")
    assert decide(RUNS).answer == answer(DAILY.result)
    assert decide([DAILY, own]).answer == answer(own.result)
    assert decide([SPILLING]).answer is None


def test_the_worst_that_any_run_found_in_a_class_of_files_stands() -> None:
    quiet = as_run(s.changed(s.costly(), evidence=s.evidence(EvidenceState.ENCRYPTED, 0)), "20261121-qqqq")
    loud = as_run(s.leaking(), "20261121-zzzz")
    found = {line.file_class: (line.state, line.run_id) for line in decide([quiet, loud]).in_clear}
    assert found["temp"] == (EvidenceState.LEAK, "20261121-zzzz")
    assert found["database"][0] is EvidenceState.ENCRYPTED


def test_what_nobody_measured_is_named_with_the_command_that_would() -> None:
    named = {one.topic: one.command for one in decide([SPILLING]).unmeasured}
    assert named[Topic.DAILY] == "tdelta run --engine sqlite"
    assert named[Topic.CAPACITY] == "tdelta run capacity --engine sqlite"
    assert named[Topic.CHANGE] == "tdelta run convert --engine sqlite"
    assert named[Topic.RECOVERY] == "tdelta run restart --engine sqlite"
    assert named[Topic.BACKUP] == "tdelta run backup --engine sqlite"
    assert named[Topic.REPLICATION] is None
    assert set(named) == set(Topic) - {Topic.TEMPORARY}
    on_server = {
        one.topic: one.command for one in decide([as_run(s.spilling(), "20261121-ssss", study="spill")]).unmeasured
    }
    assert on_server[Topic.CHANGE] == "tdelta run convert --engine mariadb"


def test_a_sentence_has_figures_of_what_was_decided_only() -> None:
    undecided = at_load()
    verdicts = tuple(replace(v, decision=Decision.UNDECIDED) for v in undecided.verdicts)
    (said, *_) = sentences(decide([as_run(replace(undecided, verdicts=verdicts), "20261121-llll")]))
    assert said == f"{TITLES[Topic.CAPACITY]}: undecided for 1 of 1 condition."


def test_an_unsound_run_has_no_sentence_and_its_lines_say_so() -> None:
    basis = decide([DAILY, as_run(s.unsound(), "20261121-uuuu", study="spill")])
    assert {line.decision for line in basis.lines if line.run_id == "20261121-uuuu"} == {Decision.UNSOUND}
    assert not any(TITLES[Topic.TEMPORARY] in text for text in sentences(basis) if "Not measured" not in text)


def test_sizes_are_those_of_data_when_it_had_been_loaded() -> None:
    sizes = (DataSize(s.PLAIN, 100), DataSize(s.AES, 104))
    (line,) = decide([as_run(s.changed(s.costly(), data_sizes=sizes), "20261121-dddd")]).sizes
    assert (line.plain_bytes, line.encrypted_bytes) == (100, 104)


def test_backups_of_both_twins_stand_beside_each_other_and_those_that_can_be_read_are_named() -> None:
    basis = decide([as_run(s.backed_up(), "20261121-bbbb", study="backup")])
    copy, dump = basis.backups
    assert (copy.is_logical, copy.plain_ratio, copy.encrypted_ratio, copy.in_clear) == (False, 2.12, 1.0, ())
    assert (dump.is_logical, dump.encrypted_ratio, dump.in_clear) == (True, 4.31, ("dump",))
    assert {line.topic for line in basis.lines} == {Topic.BACKUP}
    texts = [one.text for one in compose(basis).sections[0].blocks if isinstance(one, Paragraph)]
    (said,) = (text for text in texts if "can be read" in text)
    assert "dump" in said
    assert "copy" not in said


def test_runs_of_two_engines_or_without_encryption_are_refused() -> None:
    with refused(UsageError, "one-engine-expected", found="mariadb, sqlite"):
        decide([DAILY, as_run(s.acted(), "20261121-cccc")])
    with refused(UsageError, "one-engine-expected", found="none"):
        decide([])
    with refused(UsageError, "nothing-to-decide", runs="20261121-pppp"):
        decide([as_run(s.planted(), "20261121-pppp")])


def test_the_page_says_it_all_and_is_sound_html() -> None:
    page = read(render(compose(decide(RUNS))))
    assert page.faults == []
    for topic in (Topic.DAILY, Topic.CAPACITY, Topic.TEMPORARY, Topic.CHANGE):
        assert TITLES[topic] in page.text("h2")
    assert answer(DAILY.result) in page.text("p")
    assert any("Nothing is paired between runs" in words for words in page.text("figcaption"))


def test_the_newest_of_each_kind_stands_for_it_and_other_engines_are_left_out(tmp_path: Path) -> None:
    older, newer = as_run(s.costly(), "20261121-aaaa"), as_run(s.negligible(), "20261122-bbbb")
    other = as_run(s.acted(), "20261120-mmmm")
    with Store.open(tmp_path / "runs.sqlite") as store:
        for run in (other, older, SPILLING, newer):
            store.create_run(run.result.settings, {}, {})
            store.finish(run.result.settings.run_id, run.result)
        ids = newest_of_each_kind(store)
        assert ids == ("20261122-bbbb", "20261121-ssss")
        assert [run.result.decision for run in stored(store, ids)] == [Decision.NEGLIGIBLE, Decision.COSTLY]
