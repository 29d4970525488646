import json
from dataclasses import replace

import pytest

from support import samples as s
from support.decision_samples import LATE, PEAK, decided, outline
from support.json_docs import check_documented
from tdelta.document.blocks import Cell, Line, Lines, Paragraph, Section, Table
from tdelta.messages import Caution, Reason, Refusal
from tdelta.messages.catalogue import DIRECTION_ALONE, REASONS, TOO_LITTLE
from tdelta.messages.message import fields_of
from tdelta.records import Decision, Metric, RunResult
from tdelta.report.decision import (
    Load,
    brief,
    cores_at,
    decision_blocks,
    decision_document,
    decision_page,
    outline_blocks,
    outline_document,
    spanning,
    still_readable,
)
from tdelta.report.document import to_json
from tdelta.session.deciding import Decided

TERMS = "A round makes new copies of the database; a block measures every configuration once."
WIDE = s.verdict(s.estimate(1.04, 0.2), Decision.UNDECIDED, metric=Metric.CPU_PER_OPERATION, value=71.0)


def lines(found: Decided, load: Load = PEAK) -> dict[str, Line]:
    (block,) = [block for block in decision_blocks(found, load, "page.html") if isinstance(block, Lines)]
    return {line.title: line for line in block.items}


def section(name: str, found: Decided, load: Load = PEAK) -> Section:
    return next(one for one in decision_page(found, load).sections if one.name == name)


def test_cores_are_cpu_time_at_the_rate_with_the_interval_of_the_overhead() -> None:
    cores = cores_at(PEAK, decided())
    cpu = next(v for v in s.slower().verdicts if (v.metric, v.transaction) == (Metric.CPU_PER_OPERATION, "all"))
    plain = 2000.0 * cpu.baseline_value / 1e6
    assert cores is not None
    assert cores.plain == pytest.approx(plain)
    assert cores.encrypted == pytest.approx(plain * cpu.ratio.median)
    assert (cores.low, cores.high) == pytest.approx(tuple(plain * end for end in cpu.ratio.hdi95))
    month = plain * 3 * 0.05 * 730
    wanted = [(ratio - 1) * month for ratio in (cpu.ratio.median, *cpu.ratio.hdi95)]
    assert cores.month_costs == pytest.approx(tuple(wanted))


def test_a_saving_is_less_per_month() -> None:
    cpu = s.verdict(s.estimate(0.9, 0.01), Decision.FASTER, metric=Metric.CPU_PER_OPERATION, value=71.0)
    faster = replace(s.slower(), verdicts=(*s.slower().primary, cpu))
    assert lines(decided(daily=faster))["Cores"].text.endswith(" 1.55 less per month")
    euros = replace(PEAK, currency="EUR")
    assert lines(decided(), euros)["Cores"].text.endswith(" EUR more per month")


@pytest.mark.parametrize(
    ("load", "daily"),
    [
        (Load(None, 3, 0.05), s.slower()),
        (PEAK, s.invalid()),
        (PEAK, s.changed(s.slower(), blocks=3)),
        (PEAK, replace(s.slower(), verdicts=tuple(v for v in s.slower().verdicts if v.primary))),
        (PEAK, replace(s.slower(), verdicts=(*s.slower().primary, WIDE))),
    ],
    ids=["no rate", "invalid", "three blocks", "no CPU time", "a wide interval"],
)
def test_there_are_no_cores_where_too_little_is_known(load: Load, daily: RunResult) -> None:
    assert cores_at(load, decided(daily=daily)) is None


def test_servers_whose_cpu_time_was_not_seen_have_no_cores() -> None:
    own = s.external_servers()
    facts = own.settings.external_servers
    assert facts is not None
    unseen = replace(facts, encrypted=replace(facts.encrypted, has_cpu_time=False))
    daily = replace(own, settings=replace(own.settings, external_servers=unseen))
    assert cores_at(PEAK, decided(daily=daily)) is None


def test_files_of_a_mounted_layer_are_readable_together() -> None:
    files = [replace(one, state=s.EvidenceState.MOUNTED) for one in s.evidence(s.EvidenceState.ENCRYPTED, 0)]
    (found,) = still_readable(decided(daily=s.changed(s.slower(), evidence=tuple(files))))
    assert set(found.files) == {one.file_class for one in files}
    assert found.content == "whole rows"


DISK, NO_EFFECT = "put them on an encrypted disk", "encryption is not in effect here: do not rely on it"
IN_MEMORY = f"{NO_EFFECT}; keep them in memory (PRAGMA temp_store = MEMORY)"
SORTS, CHANGES = "rows in sorts and joins", "rows as they change"


@pytest.mark.parametrize(
    ("engine", "file_class", "state", "content", "helps"),
    [
        ("mariadb", "redo log", s.EvidenceState.UNCOVERED, CHANGES, "innodb_encrypt_log = ON"),
        ("mariadb", "temp", s.EvidenceState.UNCOVERED, SORTS, "encrypt_tmp_files = ON"),
        ("mariadb", "on-disk temp tables", s.EvidenceState.UNCOVERED, SORTS, DISK),
        ("mariadb", "server logs", s.EvidenceState.UNCOVERED, "statements with their values", DISK),
        ("mariadb", "tables", s.EvidenceState.LEAK, "whole rows", NO_EFFECT),
        ("mariadb", "redo log", s.EvidenceState.LEAK, CHANGES, NO_EFFECT),
        ("mysql", "temp", s.EvidenceState.UNCOVERED, SORTS, DISK),
        ("mysql", "temp tables", s.EvidenceState.UNCOVERED, "whole rows", DISK),
        ("duckdb", "temp", s.EvidenceState.UNCOVERED, SORTS, "SET temp_file_encryption = true"),
        ("postgres", "other", s.EvidenceState.UNCOVERED, "single values", DISK),
        ("sqlite", "temp", s.EvidenceState.LEAK, SORTS, IN_MEMORY),
    ],
)
def test_readable_files_have_their_content_and_a_step_that_helps(
    engine: str, file_class: str, state: s.EvidenceState, content: str, helps: str
) -> None:
    one = next(one for one in s.evidence(state, 3) if one.state is state)
    daily = s.changed(s.slower(), evidence=(replace(one, file_class=file_class),))
    daily = replace(daily, settings=replace(daily.settings, engine=engine))
    (found,) = still_readable(decided(daily=daily))
    assert (found.files, found.content, found.helps) == ((file_class,), content, helps)


def test_what_was_searched_and_is_clean_is_below_what_is_readable() -> None:
    daily = s.changed(s.slower(), evidence=s.evidence(s.EvidenceState.LEAK, 3))
    table, clean = section("readable", decided(("backup", s.backed_up()), daily=daily)).blocks
    assert isinstance(table, Table)
    assert isinstance(clean, Paragraph)
    assert clean.text == "No plaintext in database, wal."


def test_the_gravest_plaintext_is_first() -> None:
    found = still_readable(decided(("encrypt", s.acted()), ("backup", s.backed_up())))
    assert [one.content for one in found] == ["whole rows", "deleted rows", "rows as they change, deleted rows"]


def test_what_daily_work_found_is_no_news_of_another_question() -> None:
    page = decision_page(decided(("backup", s.other_cipher()), daily=s.other_cipher()), PEAK)
    size, warning, table, *_ = page.sections[0].blocks
    assert isinstance(size, Paragraph)
    assert isinstance(warning, Paragraph)
    assert isinstance(table, Table)
    assert size.text == "Daily work was measured on 50 MB of your rows."
    assert warning.text == "AES-128-CBC is in use, not AES-256 as requested."
    assert ["is in use, not" in row[1].text for row in table.rows if isinstance(row[1], Cell)] == [True, False]


def test_sizes_of_other_questions_are_named_where_they_differ() -> None:
    (size, *_) = section("answer", decided(("spill", s.leaking()), daily=s.own_database())).blocks
    assert isinstance(size, Paragraph)
    assert size.text == "Daily work was measured on 24.10 MiB of your rows; Temporary files on 50 MB."


def test_a_currency_is_at_the_cost_and_at_both_ends_of_it() -> None:
    (table, _) = section("cores", decided(), replace(PEAK, currency="EUR")).blocks
    assert isinstance(table, Table)
    *_, more, interval = table.rows[-1]
    assert str(more).endswith(" EUR")
    assert str(interval).endswith(" EUR")


@pytest.mark.parametrize(("said", "explained"), [("blocked in the background", []), ("in 1 round", [TERMS])])
def test_rounds_and_blocks_are_explained_where_they_are_named(said: str, explained: list[str]) -> None:
    caution = Caution.of("others-used-cpu", share=0.12).at(said)
    blocks = section("cautions", decided(daily=s.changed(s.slower(), cautions=(caution,)))).blocks
    assert [one.text for one in blocks if isinstance(one, Paragraph) and one.text == TERMS] == explained


def test_a_reason_is_cut_where_it_quotes_and_keeps_its_remedy() -> None:
    why = Refusal.of("requires", what=80 * "said ", needs="--max-time")
    (table,) = section("open", decided(open=(replace(LATE, why=why),))).blocks
    assert isinstance(table, Table)
    ((_, text),) = table.rows
    assert str(text).endswith("… requires --max-time")
    assert len(str(text)) == 200


def test_cautions_that_differ_in_their_numbers_are_one_with_a_range() -> None:
    texts = ["12% of 1,024 pages", "58% of 1,024 pages", "9.5% of 1,024 pages"]
    assert spanning(texts) == "9.5 to 58% of 1,024 pages"


def test_nothing_readable_names_what_was_searched() -> None:
    searched = s.changed(s.slower(), evidence=s.evidence(s.EvidenceState.ENCRYPTED, 0))
    line = lines(decided(daily=searched))["Still readable"]
    assert not line.is_warning
    assert all(name in line.text for name in ("database", "temp", "wal"))
    assert lines(decided())["Still readable"].text == "not tested in files"


def test_a_brief_answer_has_both_ends_of_several_and_the_interval_of_one() -> None:
    assert brief(s.slower()) == "SLOWER, +3.1% (+2.4% to +3.8%)"
    assert brief(s.sweep()).count(" to ") == 1
    assert brief(s.invalid()) == "INVALID"
    assert brief(s.acted()).startswith("encrypting the database (iops 200) 8.2 s, +26%; ")


@pytest.mark.parametrize(
    ("code", "cost"),
    [
        ("", "slower: +9.0% (+6.9% to +11.1%)"),
        (TOO_LITTLE, "no answer yet"),
        (DIRECTION_ALONE, "probably slower, amount unknown"),
    ],
)
def test_a_layer_has_figures_only_if_enough_was_measured(code: str, cost: str) -> None:
    stored, given = s.stored(), {"blocks": 1, "rounds": 1, "points": 150.0, "direction": "slower"}
    first, *others = stored.primary
    if code:
        fields = {name: given[name] for name in fields_of(REASONS[code])}
        first = replace(first, decision=Decision.UNDECIDED, reasons=(Reason.of(code, **fields),))
    found = decided(("storage", replace(stored, verdicts=(first, *others))))
    (table,) = section("layers", found).blocks
    assert isinstance(table, Table)
    assert table.rows[0][1] == cost


def test_daily_work_that_is_invalid_alarms_the_page() -> None:
    assert decision_page(decided(daily=s.leaking()), PEAK).is_alarm
    assert not decision_page(decided(("spill", s.leaking())), PEAK).is_alarm


def test_a_plan_without_runs_has_no_table_of_them() -> None:
    assert [block for block in outline_blocks(replace(outline(), steps=())) if isinstance(block, Table)] == []


def test_the_document_has_answers_cores_and_what_is_open() -> None:
    check_documented("tdelta.decide-dry-run/1", outline_document(outline()))
    found = decision_document(decided(("backup", s.backed_up()), open=(LATE,)), PEAK, "p", 0)
    check_documented("tdelta.decide/1", found)
    document = json.loads(to_json(found))
    assert [one["question"] for one in document["answers"]] == ["workload", "backup"]
    assert document["answers"][0]["decision"] == Decision.SLOWER
    assert document["cores"]["plain"] > 0
    assert document["open"][0]["why"]["code"] == "decide-no-time"
