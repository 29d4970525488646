import json
from pathlib import Path

import pytest

from support.refused import Part, has
from support.texts import texts
from tdelta.importers.accumulating import Printed
from tdelta.importers.hammerdb import IMPORTERS, NEW_ORDERS, result_in, usable_sd
from tdelta.importers.importer import Naming
from tdelta.messages import Caution
from tdelta.records.observed import Group

from .given import FIXTURES, changed, faulty, figures, read, series, summaries, written

FOLDER = FIXTURES / "hammerdb"
FOUR_USERS = (("threads", 4),)


def cautions(observations) -> list[Caution]:
    return [caution for it in observations for caution in it.origin.cautions]


@pytest.mark.parametrize(
    ("line", "nopm", "tpm"),
    [
        ("Vuser 1:TEST RESULT : System achieved 128176 NOPM from 298394 MariaDB TPM", 128176, 298394),
        ("TEST RESULT : System achieved 298394 MariaDB TPM at 128176 NOPM", 128176, 298394),
        ("TEST RESULT : System achieved 60501 SQL Server TPM at 13207 NOPM", 13207, 60501),
        ('  "TEST RESULT : System achieved 13207 NOPM from 60501 SQL Server TPM"', 13207, 60501),
    ],
)
def test_a_result_is_read_in_either_order(line: str, nopm: int, tpm: int):
    result = result_in(line)
    assert (result.nopm, result.tpm) == (nopm, tpm)


def test_a_result_is_throughput_a_second_and_its_users_are_a_level():
    observations = read(IMPORTERS, FOLDER / "result.json")
    assert figures(observations) == {
        Group("plain", NEW_ORDERS, "throughput", "/s", "1", FOUR_USERS): 2136,
        Group("plain", "all", "throughput", "/s", "1", FOUR_USERS): 4973,
    }
    assert {it.origin.line for it in observations} == {5}


def test_the_results_of_one_log_are_runs_of_their_own():
    observations = read(IMPORTERS, FOLDER / "console.log", Naming("tde", "7"))
    found = {(group.run, group.transaction): value for group, value in figures(observations).items()}
    assert found == {("7.1", NEW_ORDERS): 46, ("7.1", "all"): 110, ("7.2", NEW_ORDERS): 47, ("7.2", "all"): 112}
    assert summaries(observations)["NEWORD"].group.run == "7.1"


def test_a_result_that_is_said_twice_is_one_run(tmp_path: Path):
    text = (FOLDER / "result.json").read_text(encoding="utf-8")
    console = "Vuser 1:TEST RESULT : System achieved 128160 NOPM from 298380 MariaDB TPM\n"
    assert len(figures(read(IMPORTERS, written(tmp_path, console + text)))) == 2


def test_timings_are_summaries_of_the_procedures():
    found = summaries(read(IMPORTERS, FOLDER / "timing.json"))
    assert set(found) == {"NEWORD", "PAYMENT"}
    order = found["NEWORD"]
    assert (order.count, order.mean, order.sd) == (90210, 2.731, 1.57)
    assert order.quantiles == {0.25: 1.93, 0.5: 2.52, 0.75: 3.2, 0.95: 5.31, 0.99: 7.9}
    assert texts(order.origin.cautions) == ()


def test_a_deviation_in_clicks_is_not_used_and_told():
    found = summaries(read(IMPORTERS, FOLDER / "console.log"))["NEWORD"]
    assert (found.count, found.mean, found.sd) == (50112, 4.4, None)
    assert "3310.2" in texts(found.origin.cautions)[0]
    assert "clicks" in texts(found.origin.cautions)[0]


def test_times_of_one_virtual_user_are_told_from_those_of_all():
    assert has(cautions(read(IMPORTERS, FOLDER / "console.log")), "of-one-user")
    assert not has(cautions(read(IMPORTERS, FOLDER / "timing.json")), "of-one-user")


@pytest.mark.parametrize(
    ("sd", "usable"), [(1.57, True), (0.7, True), (9.0, True), (1570.0, False), (100.0, False), (0.001, False)]
)
def test_only_what_can_be_ms_alone_is_a_deviation(sd: float, usable: bool):
    printed = Printed(90210, 2.731, 0.412, 41.9, {0.5: 2.52, 0.95: 5.31, 0.99: 7.9}, 0.001)
    found, told = usable_sd(sd, printed)
    assert (found is not None) == usable
    assert bool(told) != usable


def test_a_deviation_that_could_be_either_is_not_used():
    found, told = usable_sd(0.5, Printed(1_000_000, 10.0, 9.0, 11.0, {}, 0.0001))
    assert found is None
    assert has([told[0]], "not-used", what=Part("0.5"), why="ms, or clicks (HammerDB before April 2026)")


def test_the_counter_is_a_series_a_second_within_the_load():
    (found,) = series(read(IMPORTERS, FOLDER / "tcount.json"))
    assert found.values == (5000, 5100, 4900, 5010, 4990)
    assert (found.interval_seconds, found.starts_at_seconds) == (10, 20)
    assert found.group == Group("plain", metric="throughput", unit="/s")
    assert has(found.origin.cautions, "ramp-up-included")


def test_an_old_counter_with_the_times_behind_the_counts_is_put_in_order():
    (found,) = series(read(IMPORTERS, FOLDER / "tcount-old.json"))
    assert found.values == (110, 111, 109, 108)


def test_a_job_report_has_all_of_one_run():
    observations = read(IMPORTERS, FOLDER / "summary.json")
    assert set(figures(observations).values()) == {2136, 4973}
    assert series(observations)[0].values == (5000, 5100, 4900)
    assert summaries(observations)["NEWORD"].sd == 1.57
    assert {it.group.levels for it in observations} == {FOUR_USERS}


@pytest.mark.parametrize(
    ("fixture", "old", "new", "line", "code", "part"),
    [
        ("result.json", "128160 NOPM", "NaN NOPM", 5, "unexpected", "System achieved N"),
        ("timing.json", '"avg_ms": "2.731"', '"avg_ms": "slow"', 1, "unexpected", "'NEWORD'"),
        ("timing.json", '"calls": "90210"', '"calls": "-1"', 1, "unexpected", "'NEWORD'"),
        ("timing.json", '"avg_ms": "2.731"', '"avg_ms": "2731"', 1, "out-of-range", "'NEWORD'"),
        ("tcount.json", '"294000"', '"many"', 1, "unexpected", "'2026-11-20 07:23:46: many'"),
        ("tcount.json", "07:23:36", "07:23:99", 1, "unexpected", "'2026-11-20 07:23:99: 306000'"),
        ("summary.json", '"nopm":128160', '"nopm":"fast"', 1, "unexpected", "nopm and tpm"),
    ],
)
def test_what_is_no_figure_is_named_with_its_line(tmp_path: Path, fixture, old, new, line, code, part):
    _, fault = faulty(IMPORTERS, changed(tmp_path, f"hammerdb/{fixture}", old, new))
    assert (fault[0].code, fault[0].parameters["where"]) == (code, f"{fixture}:{line}")
    assert part in str(fault[0])


def test_an_object_that_was_cut_off_is_named_and_what_follows_is_read(tmp_path: Path):
    timing = (FOLDER / "timing.json").read_text(encoding="utf-8")
    path = written(tmp_path, timing[:200] + "\n" + timing, "log")
    observations, fault = faulty(IMPORTERS, path)
    assert has(fault, "unexpected", found=Part("another"), where="log:1", expected="a whole JSON object")
    assert set(summaries(observations)) == {"NEWORD", "PAYMENT"}
    _, fault = faulty(IMPORTERS, written(tmp_path, timing[:-3], "cut"))
    assert has(fault, "unexpected", found=Part("end"), where="cut:1", expected="a whole JSON object")


def test_braces_of_others_in_a_log_are_passed_over(tmp_path: Path):
    text = (FOLDER / "result.json").read_text(encoding="utf-8")
    assert len(read(IMPORTERS, written(tmp_path, "HammerDB CLI v4.6\n{ not JSON }\n{}\n{\n" + text))) == 2


def test_nesting_without_end_is_refused(tmp_path: Path):
    deep = '{"a tpm": ' * 50_000 + "1" + "}" * 50_000
    _, fault = faulty(IMPORTERS, written(tmp_path, deep))
    assert has(fault, "unexpected", where="given:1", expected="a whole JSON object")


def test_a_log_without_results_says_what_to_print(tmp_path: Path):
    _, fault = faulty(IMPORTERS, written(tmp_path, "HammerDB CLI v4.6\nVuser 1:RUNNING\n"))
    assert has(fault, "no-test-result", where="given")


def test_the_printed_script_is_no_result(tmp_path: Path):
    script = 'puts "TEST RESULT : System achieved $nopm NOPM from $tpm MariaDB TPM"\n'
    text = script + (FOLDER / "result.json").read_text(encoding="utf-8")
    assert len(read(IMPORTERS, written(tmp_path, text))) == 2


def test_what_would_fill_memory_is_refused(tmp_path: Path):
    timing = json.loads((FOLDER / "timing.json").read_text(encoding="utf-8"))
    many = {f"P{n}": timing["NEWORD"] for n in range(101)}
    assert has(faulty(IMPORTERS, written(tmp_path, json.dumps(many)))[1], "too-many", most=100, what="procedures")
    report = (FOLDER / "summary.json").read_text(encoding="utf-8")
    assert has(faulty(IMPORTERS, written(tmp_path, report * 1001))[1], "too-many", most=1000)
