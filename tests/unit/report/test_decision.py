import json
from dataclasses import replace

import pytest

from support import samples as s
from support.decision_samples import LATE, PEAK, decided, outline
from support.json_docs import check_documented
from tdelta.document.blocks import Cell, Line, Lines, Paragraph, Table
from tdelta.messages import Reason
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
    outline_document,
    spanning,
    still_readable,
)
from tdelta.report.document import to_json
from tdelta.session.deciding import Decided

WIDE = s.verdict(s.estimate(1.04, 0.2), Decision.UNDECIDED, metric=Metric.CPU_PER_OPERATION, value=71.0)


def lines(found: Decided, load: Load = PEAK) -> dict[str, Line]:
    (block,) = [block for block in decision_blocks(found, load, "page.html") if isinstance(block, Lines)]
    return {line.title: line for line in block.items}


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


@pytest.mark.parametrize(
    ("options", "file_class", "content", "helps"),
    [
        ({"engine": "mariadb", "scope": "data"}, "redo log", "rows as they change", "encrypt more (--scope all)"),
        ({"engine": "mariadb", "scope": "all"}, "tables", "whole rows", "put them on an encrypted disk"),
        ({"engine": "mysql", "scope": "data"}, "temp", "rows in sorts and joins", "put them on an encrypted disk"),
        ({"engine": "sqlite"}, "temp", "rows in sorts and joins", "keep them in memory (--temp-store memory)"),
    ],
)
def test_readable_files_have_their_content_and_a_step_that_helps(
    options: dict[str, str], file_class: str, content: str, helps: str
) -> None:
    one = next(one for one in s.evidence(s.EvidenceState.UNCOVERED, 3) if one.state is s.EvidenceState.UNCOVERED)
    daily = s.changed(s.slower(), evidence=(replace(one, file_class=file_class),))
    settings = replace(daily.settings, engine=options["engine"], options={**daily.settings.options, **options})
    (found,) = still_readable(decided(daily=replace(daily, settings=settings)))
    assert (found.files, found.content, found.helps) == ((file_class,), content, helps)


def test_the_gravest_plaintext_is_first() -> None:
    found = still_readable(decided(("encrypt", s.acted()), ("backup", s.backed_up())))
    assert [one.content for one in found] == ["whole rows", "deleted rows", "rows as they change, deleted rows"]


def test_what_daily_work_found_is_no_news_of_another_question() -> None:
    page = decision_page(decided(("backup", s.other_cipher()), daily=s.other_cipher()), PEAK)
    size, warning, table, *_ = page.sections[0].blocks
    assert isinstance(size, Paragraph)
    assert isinstance(warning, Paragraph)
    assert isinstance(table, Table)
    assert size.text == "Measured on 50 MB of your rows. No other size was measured."
    assert warning.text == "AES-128-CBC is in use, not AES-256 as requested."
    assert ["is in use, not" in row[1].text for row in table.rows if isinstance(row[1], Cell)] == [True, False]


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
    (table,) = next(one for one in decision_page(found, PEAK).sections if one.name == "layers").blocks
    assert isinstance(table, Table)
    assert table.rows[0][1] == cost


def test_daily_work_that_is_invalid_alarms_the_page() -> None:
    assert decision_page(decided(daily=s.leaking()), PEAK).is_alarm
    assert not decision_page(decided(("spill", s.leaking())), PEAK).is_alarm


def test_the_document_has_answers_cores_and_what_is_open() -> None:
    check_documented("tdelta.decide-dry-run/1", outline_document(outline()))
    found = decision_document(decided(("backup", s.backed_up()), open=(LATE,)), PEAK, "p", 0)
    check_documented("tdelta.decide/1", found)
    document = json.loads(to_json(found))
    assert [one["question"] for one in document["answers"]] == ["workload", "backup"]
    assert document["answers"][0]["decision"] == Decision.SLOWER
    assert document["cores"]["plain"] > 0
    assert document["open"][0]["why"]["code"] == "decide-no-time"
