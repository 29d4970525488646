import re
import tracemalloc
from pathlib import Path

import pytest

from support.refused import Coded, Part, check_messages, coded, has
from tdelta.importers.importer import Naming
from tdelta.importers.swingbench import IMPORTERS, MOST_ELEMENTS
from tdelta.importers.xml_document import DEEPEST
from tdelta.records.observed import Group

from .given import FIXTURES, changed, faulty, figures, read, series, summaries, written

RESULTS = FIXTURES / "swingbench/results.xml"
OLD = FIXTURES / "swingbench/results-old.xml"


def test_each_transaction_type_that_ran_is_a_summary_with_its_percentiles():
    found = summaries(read(IMPORTERS, RESULTS))
    assert set(found) == {"Customer Registration", "Browse Products"}
    registration = found["Customer Registration"]
    assert (registration.count, registration.mean) == (1200, 9.61)
    assert registration.quantiles[0.1] == 4
    assert registration.quantiles[0.5] == 8
    assert registration.quantiles[0.9] == 18
    assert len(registration.quantiles) == 9
    assert registration.group == Group("plain", "Customer Registration", levels=(("threads", 4),))
    assert registration.origin.line == 18
    check_messages(registration.origin.cautions, coded("failed-transactions", transactions=2))


def test_a_name_is_taken_without_what_stands_around_it(tmp_path: Path):
    path = changed(tmp_path, "swingbench/results.xml", '"Customer Registration"', '"Customer Registration&#13;&#13;"')
    assert set(summaries(read(IMPORTERS, path))) == {"Customer Registration", "Browse Products"}


def test_throughput_is_the_overviews_average():
    assert figures(read(IMPORTERS, RESULTS)) == {
        Group("plain", metric="throughput", unit="/s", levels=(("threads", 4),)): 600.0
    }


def test_readings_under_load_are_a_series_without_their_partial_ends():
    (found,) = series(read(IMPORTERS, RESULTS))
    assert found.values == (598, 602, 611, 590, 607, 599, 603)
    assert found.interval_seconds == pytest.approx(1.0, abs=0.002)
    assert found.starts_at_seconds == 2.0
    assert has(found.origin.cautions, "left-out", what=Part("2"))


def test_an_old_layout_with_a_prefix_and_without_percentiles_is_read():
    observations = read(IMPORTERS, OLD, Naming("tde", "2", (("threads", 8),)))
    (order,) = summaries(observations).values()
    assert (order.count, order.mean, order.quantiles) == (2490, 31.25, {})
    assert order.group == Group("tde", "New Order", run="2", levels=(("threads", 8),))


def test_readings_that_are_no_rates_a_second_are_not_used(tmp_path: Path):
    path = changed(tmp_path, "swingbench/results.xml", ">600.0<", ">6.5<")
    observations = read(IMPORTERS, path)
    assert not series(observations)
    assert any(has(it.origin.cautions, "not-used", why="not per second") for it in observations)


MEAN = "<AverageResponse>9.61"


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "part"),
    [
        (">1200<", ">many<", 37, "unexpected", "TransactionCount"),
        (">1200<", ">-3<", 37, "unexpected", "TransactionCount"),
        (MEAN, "<AverageResponse>nan", 19, "unexpected", "AverageResponse"),
        (MEAN, "<AverageResponse>1e999", 19, "unexpected", "AverageResponse"),
        (MEAN, "<AverageResponse>0", 19, "unexpected", "'Customer Registration'"),
        (MEAN, "<AverageResponse>961", 18, "out-of-range", "'Customer Registration'"),
        ('id="Browse Products"', 'id="Customer Registration"', 40, "unexpected", "a Result with its own id"),
        ("1795168802000, 598", "1795168802000, x", 61, "unexpected", "epoch ms and"),
        ("PerSecond>600.0", "PerSecond>fast", 10, "unexpected", "a number in"),
    ],
)
def test_what_is_no_figure_is_named_with_its_line_and_the_rest_is_read(tmp_path: Path, old, new, line, code, part):
    observations, fault = faulty(IMPORTERS, changed(tmp_path, "swingbench/results.xml", old, new))
    assert (fault[0].code, fault[0].parameters["where"]) == (code, f"results.xml:{line}")
    assert part in str(fault[0])
    assert "Browse Products" in summaries(observations) or "id=" in old


def test_all_faults_are_said_at_once(tmp_path: Path):
    text = RESULTS.read_text(encoding="utf-8").replace(">1200<", "><").replace(">6000<", ">?<")
    _, fault = faulty(IMPORTERS, written(tmp_path, text, "r.xml"))
    assert [one.parameters["where"] for one in fault] == ["r.xml:37", "r.xml:49"]


def test_a_file_that_was_cut_off_gives_what_is_whole_and_says_where_it_ends(tmp_path: Path):
    text = RESULTS.read_text(encoding="utf-8")
    path = written(tmp_path, text[: text.index('<Result id="Warehouse')], "cut.xml")
    observations, fault = faulty(IMPORTERS, path)
    assert set(summaries(observations)) == {"Customer Registration", "Browse Products"}
    assert [one.parameters["where"] for one in fault] == ["cut.xml:52"]


def test_a_file_without_any_result_says_what_was_expected(tmp_path: Path):
    _, fault = faulty(IMPORTERS, written(tmp_path, "<Results><Overview/></Results>"))
    assert has(fault, "missing", where="given", what="a Result with AverageResponse, or TPSReadings,")


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    "declared",
    [
        f'<!DOCTYPE Results [<!ENTITY l0 "lol">{LAUGHS}]>',
        '<!DOCTYPE Results SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE Results [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        "<!DOCTYPE Results>",
    ],
)
def test_entities_and_document_types_are_refused_before_anything_is_expanded(tmp_path: Path, declared: str):
    document = f"{declared}\n<Results><Overview>&l9;&x;</Overview></Results>"
    observations, fault = faulty(IMPORTERS, written(tmp_path, document, "bomb.xml"))
    assert not observations
    assert has(fault, "unexpected", where="bomb.xml:1", expected="results only")


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ("<a>" * (DEEPEST + 1), coded("too-many", most=32, what="levels of elements")),
        ("<a/>" * (MOST_ELEMENTS + 1), coded("too-many", most=100000, what="elements")),
        ("<a " + " ".join(f'a{n}=""' for n in range(100_000)) + "/>", coded("unexpected", expected="short tags")),
        ("<Result id='x'/>" * 1001, coded("too-many", most=1000, what="Result elements")),
    ],
)
def test_a_document_that_would_take_its_readers_memory_is_refused(tmp_path: Path, inside: str, said: Coded):
    _, fault = faulty(IMPORTERS, written(tmp_path, f"<Results><Overview/>{inside}</Results>"))
    assert has(fault, said), fault


def test_long_texts_are_no_fault_and_take_no_memory(tmp_path: Path):
    path = changed(tmp_path, "swingbench/results.xml", "210, 500", "210, " * 100_000)
    assert len(summaries(read(IMPORTERS, path))) == 2


def test_readings_directly_below_a_result_are_readings(tmp_path: Path):
    text = RESULTS.read_text(encoding="utf-8")
    readings = re.search(r"<TPSReadings>.*?</TPSReadings>", text, re.DOTALL)
    assert readings is not None
    moved = text.replace(readings[0], "").replace("</Result>", f"{readings[0]}</Result>", 1)
    assert [it.values for it in series(read(IMPORTERS, written(tmp_path, moved)))] == [
        it.values for it in series(read(IMPORTERS, RESULTS))
    ]


@pytest.mark.parametrize("stretch", ["\n" * 200_000, " " * 200_000, "1" * 200_000, "1" + "\n" * 200_000])
def test_a_reading_without_end_is_damage_and_is_not_kept(tmp_path: Path, stretch: str):
    tracemalloc.start()
    path = written(tmp_path, f"<Results><Overview/>\n<TPSReadings>{stretch}</TPSReadings></Results>")
    _, fault = faulty(IMPORTERS, path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert has(fault, "unexpected", expected="epoch ms and transactions per second in TPSReadings")
    assert most < 2_000_000


def test_blank_parts_between_commas_are_skipped(tmp_path: Path):
    path = changed(tmp_path, "swingbench/results.xml", "1795168802000, 598", ", \n ,1795168802000, ,598")
    assert series(read(IMPORTERS, path)) == series(read(IMPORTERS, RESULTS))
