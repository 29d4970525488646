"""Tools that print means: wrk, hey, YCSB; and what they do not say."""

from pathlib import Path

import pytest

from tdelta.errors import ImportFault
from tdelta.importers import hey, wrk, ycsb
from tdelta.importers.importer import Importer, Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Figure, Observation, Summary

from .given import FIXTURES, changed, figures, only, read, series, summaries, written


def codes(observation: Observation) -> list[str]:
    return [it.code for it in observation.origin.cautions]


def fault(importers: tuple[Importer, ...], path: Path, naming: Naming) -> list[str]:
    with pytest.raises(ImportFault) as raised:
        list(only(importers, path).read(FileSource(path, path.name), naming))
    return [it.code for it in raised.value.refusals]


PLAIN = Naming("plain")
WRK = FIXTURES / "wrk/wrk-4.1.0.txt"


def test_wrk_prints_mean_deviation_percentiles_and_throughput():
    observations = read(wrk.IMPORTERS, WRK)
    times = summaries(observations)["all"]
    assert (times.count, times.mean, times.sd) == (256, 46.73, 6.36)
    assert times.quantiles == {0.5: 47.72, 0.75: 48.17, 0.9: 52.04, 0.99: 59.91}
    assert times.rounding == pytest.approx(0.005)
    assert times.group.levels == (("connections", 4),)
    assert list(figures(observations).values()) == [85.07]
    assert codes(times) == ["failed-included", "times-corrected"]
    assert times.duration_seconds == pytest.approx(3.01)


def test_units_of_wrk_are_those_of_each_figure(tmp_path: Path):
    path = changed(tmp_path, "wrk/wrk-4.1.0.txt", "46.73ms    6.36ms", "635.91us    1.20ms")
    times = summaries(read(wrk.IMPORTERS, path))["all"]
    assert (times.mean, times.sd, times.rounding) == (pytest.approx(0.63591), 1.2, pytest.approx(5e-6))


def test_several_runs_of_wrk_in_one_file_are_runs(tmp_path: Path):
    text = WRK.read_text()
    other = text.replace("and 4 connections", "and 8 connections")
    found = read(wrk.IMPORTERS, written(tmp_path, text + other + text))
    assert [(it.group.levels[0][1], it.group.run) for it in found if isinstance(it, Summary)] == [
        (4, "1"),
        (8, "1"),
        (4, "1.2"),
    ]


def test_a_run_of_wrk_without_its_end_is_a_fault(tmp_path: Path):
    cut = WRK.read_text().replace("Requests/sec:     85.07\n", "")
    assert "missing" in fault(wrk.IMPORTERS, written(tmp_path, cut), PLAIN)


def test_hey_prints_a_mean_without_a_deviation_and_how_it_is_rounded():
    observations = read(hey.IMPORTERS, FIXTURES / "hey/hey-0.1.4.txt")
    times = summaries(observations)["all"]
    assert (times.count, times.mean, times.sd, times.rounding) == (300, 46.4, None, pytest.approx(0.05))
    assert times.quantiles[0.95] == pytest.approx(52.1)
    assert list(figures(observations).values()) == [64.2173]
    assert codes(times) == ["failed-included"]


def test_requests_without_a_response_are_told(tmp_path: Path):
    text = (FIXTURES / "hey/hey-0.1.4.txt").read_text() + "Error distribution:\n  [7]\tGet x: timeout\n"
    assert codes(summaries(read(hey.IMPORTERS, written(tmp_path, text)))["all"])[-1] == "without-response"


@pytest.mark.parametrize("name", ["ycsb-0.17.json", "ycsb-0.17-array.json", "ycsb-0.17.txt", "ycsb-0.17-histogram.txt"])
def test_ycsb_says_the_same_as_text_and_as_json(name: str):
    observations = read(ycsb.IMPORTERS, FIXTURES / "ycsb" / name)
    times = summaries(observations)
    assert set(times) == {"READ", "UPDATE"}
    assert 2.4 < times["READ"].mean < 2.8
    assert (times["READ"].sd is not None) is ("histogram" in name)
    (rate,) = (it for it in observations if isinstance(it, Figure))
    assert rate.group.transaction == "all"
    assert 1300 < rate.value < 1500


def test_figures_of_ycsb_are_those_that_it_printed():
    observations = read(ycsb.IMPORTERS, FIXTURES / "ycsb/ycsb-0.17.txt")
    times = summaries(observations)["READ"]
    assert (times.count, times.mean) == (1489, pytest.approx(2.5857105))
    assert times.quantiles == pytest.approx({0.95: 5.099, 0.99: 5.155})
    assert times.group.levels == (("threads", 4),)
    variance = summaries(read(ycsb.IMPORTERS, FIXTURES / "ycsb/ycsb-0.17-histogram.txt"))["READ"].sd
    assert variance == pytest.approx((2994263.6595625244 * 494 / 493) ** 0.5 / 1000)


def test_status_lines_of_ycsb_are_a_series(tmp_path: Path):
    lines = [
        f"2026-11-25 18:45:{s}:252 {s} sec: {s}00 operations; {1400 + s} current ops/sec; est" for s in range(10, 20)
    ]
    text = "\n".join([*lines, "[OVERALL], RunTime(ms), 10000", "[OVERALL], Throughput(ops/sec), 1414.5"])
    (found,) = series(read(ycsb.IMPORTERS, written(tmp_path, text)))
    assert found.values == tuple(float(1400 + s) for s in range(11, 19))
    assert found.interval_seconds == pytest.approx(1)


def test_runs_of_ycsb_in_one_log_are_runs(tmp_path: Path):
    text = (FIXTURES / "ycsb/ycsb-0.17.txt").read_text()
    found = read(ycsb.IMPORTERS, written(tmp_path, text * 3))
    assert [it.group.run for it in found if isinstance(it, Figure)] == ["1", "1.2", "1.3"]


def test_an_operation_of_ycsb_without_figures_is_a_fault(tmp_path: Path):
    path = changed(
        tmp_path, "ycsb/ycsb-0.17.txt", "[READ], AverageLatency(us), 2585.7", "[READ], AverageLatency(us), x"
    )
    assert "unexpected" in fault(ycsb.IMPORTERS, path, PLAIN)
