"""Tools that log single requests: k6, JMeter, hey, YCSB's raw data. A request is a sample, failed ones are left out."""

import json
from pathlib import Path

import pytest

from tdelta.errors import ImportFault
from tdelta.importers import hey, jmeter, k6, ycsb
from tdelta.importers.importer import Importer, Naming
from tdelta.importers.reading import FileSource
from tdelta.importers.samples import MOST_TYPES
from tdelta.records.observed import Figure, Observation, Samples, Summary

from .given import FIXTURES, PLAIN, changed, only, read, written

K6 = FIXTURES / "k6"
HEAD = '{"metric":"http_req_duration","type":"Point","data":{"time":"2026-11-25T19:06:49.5Z","value":'


def samples(observations: list[Observation]) -> dict[str, Samples]:
    return {it.group.transaction: it for it in observations if isinstance(it, Samples)}


def codes(observation: Observation) -> list[str]:
    return [it.code for it in observation.origin.cautions]


def fault(importers: tuple[Importer, ...], path: Path, naming: Naming = PLAIN) -> list[str]:
    with pytest.raises(ImportFault) as raised:
        list(only(importers, path).read(FileSource(path, path.name), naming))
    return [it.code for it in raised.value.refusals]


def test_k6_lines_are_samples_of_all_requests_and_of_each_name():
    found = samples(read(k6.IMPORTERS, K6 / "k6-1.4.json"))
    assert {name: it.count for name, it in found.items()} == {"all": 60, "New order": 44, "Read": 16}
    assert found["all"].total == pytest.approx(2768.775717)
    assert found["all"].duration_seconds == pytest.approx(0.97857, abs=1e-5)
    assert found["all"].started_unix_seconds == pytest.approx(1795633609.2926)
    assert codes(found["all"]) == ["rows-failed"]


def test_k6_csv_has_the_same_requests():
    lines, rows = (samples(read(k6.IMPORTERS, K6 / f"k6-1.4.{end}")) for end in ("json", "csv"))
    assert {name: it.count for name, it in rows.items()} == {name: it.count for name, it in lines.items()}
    for name, it in rows.items():
        assert it.total == pytest.approx(lines[name].total, abs=1e-5)


def test_the_summary_of_k6_has_the_successful_requests_of_the_same_test():
    lines = samples(read(k6.IMPORTERS, K6 / "k6-1.4.json"))["all"]
    observations = read(k6.IMPORTERS, K6 / "k6-1.4-summary.json")
    (summary,) = (it for it in observations if isinstance(it, Summary))
    (rate,) = (it for it in observations if isinstance(it, Figure))
    assert (summary.count, summary.sd) == (60, None)
    assert summary.mean == pytest.approx(lines.total / 60)
    assert summary.quantiles == pytest.approx({0.5: 47.833031, 0.9: 53.1960287, 0.95: 57.7540402, 0.99: 58.37534553})
    assert rate.value == pytest.approx(61.76239)
    assert summary.duration_seconds == pytest.approx(0.987656)


def test_the_export_of_k6_has_another_layout():
    observations = read(k6.IMPORTERS, K6 / "k6-1.4-export.json")
    (summary,) = (it for it in observations if isinstance(it, Summary))
    assert (summary.count, summary.mean) == (60, pytest.approx(47.570606))
    assert not summary.origin.cautions


def test_a_k6_summary_that_does_not_tell_failed_requests_apart_says_so(tmp_path: Path):
    document = json.loads((K6 / "k6-1.4-summary.json").read_text())
    del document["metrics"]["http_req_duration{expected_response:true}"]
    (summary,) = (it for it in read(k6.IMPORTERS, written(tmp_path, json.dumps(document))) if isinstance(it, Summary))
    assert codes(summary) == ["failed-included"]
    assert summary.count == 61


def test_another_metric_of_k6_is_chosen_by_its_name():
    naming = Naming("plain", column="page_time", unit="ms")
    found = samples(read(k6.IMPORTERS, K6 / "k6-1.4.json", naming))["all"]
    assert found.count == 45
    assert found.total < samples(read(k6.IMPORTERS, K6 / "k6-1.4.json"))["all"].total
    (in_s,) = samples(read(k6.IMPORTERS, K6 / "k6-1.4.json", Naming("plain", column="page_time", unit="s"))).values()
    assert in_s.total == pytest.approx(1000 * found.total)


def test_a_scripts_own_metric_needs_its_unit():
    assert fault(k6.IMPORTERS, K6 / "k6-1.4.json", Naming("plain", column="page_time")) == ["metric-without-unit"]
    assert fault(k6.IMPORTERS, K6 / "k6-1.4.json", Naming("plain", column="x", unit="ms")) == ["unknown"]


def test_whole_iterations_are_told(tmp_path: Path):
    path = written(tmp_path, "".join(f"{HEAD}{n}}}}}\n" for n in (5, 6)).replace("http_req_d", "iteration_d"))
    assert codes(samples(read(k6.IMPORTERS, path))["all"]) == ["whole-iterations"]


def test_a_last_line_of_k6_that_is_cut_off_is_told_and_one_before_is_a_fault(tmp_path: Path):
    good = f"{HEAD}5}}}}\n"
    path = written(tmp_path, good * 2 + good[:60])
    assert samples(read(k6.IMPORTERS, path))["all"].count == 2
    assert codes(samples(read(k6.IMPORTERS, path))["all"]) == ["file-cut-off"]
    assert "unexpected" in fault(k6.IMPORTERS, written(tmp_path, good + good[:60] + "\n" + good))
    assert "unexpected" in fault(k6.IMPORTERS, written(tmp_path, good + f'{HEAD}"x"}}}}\n' + good))


def test_names_that_are_addresses_are_no_types(tmp_path: Path):
    def tagged(number: int) -> str:
        return f'{HEAD}5,"tags":{{"name":"/order/{number}"}}}}}}\n'

    path = written(tmp_path, "".join(map(tagged, range(MOST_TYPES + 5))))
    found = samples(read(k6.IMPORTERS, path))
    assert list(found) == ["all"]
    assert found["all"].count == MOST_TYPES + 5
    assert codes(found["all"]) == ["types-too-many"]


def test_a_jtl_is_the_same_as_xml_and_as_csv(tmp_path: Path):
    found = samples(read(jmeter.IMPORTERS, FIXTURES / "jmeter/jmeter-5.6.3.xml.jtl"))
    assert {name: (it.count, it.total) for name, it in found.items()} == {"New order": (29, 534), "Payment": (30, 434)}
    assert codes(found["Payment"]) == ["rows-failed"]
    assert found["Payment"].started_unix_seconds == pytest.approx(1795632464.876)
    rows = samples(read(jmeter.IMPORTERS, FIXTURES / "jmeter/jmeter-5.6.3.csv.jtl"))
    assert {name: (it.count, it.total) for name, it in rows.items()} == {"New order": (28, 368), "Payment": (30, 321)}
    assert {it.origin.format for it in rows.values()} == {"JMeter CSV"}


JTL = "timeStamp,elapsed,label\n1,{},{}\n2,{},b\n"


def test_labels_of_jmeter_are_kept_like_names_in_other_csvs(tmp_path: Path):
    address = "https://example.org/?q=" + "x" * 400
    for label, name in ((address, address), ("a\x1b[2J", "a\N{REPLACEMENT CHARACTER}[2J"), (" ", "all")):
        assert list(samples(read(jmeter.IMPORTERS, written(tmp_path, JTL.format(5, label, 6))))) == [name, "b"]
    assert fault(jmeter.IMPORTERS, written(tmp_path, JTL.format(5, "x" * 1001, 6))) == ["too-large"]


def test_a_response_time_of_a_jmeter_csv_that_is_no_number_is_named_with_its_line(tmp_path: Path):
    assert fault(jmeter.IMPORTERS, written(tmp_path, JTL.format("fast", "a", "-"))) == ["out-of-range"] * 2


def test_samples_within_a_sample_are_its_parts(tmp_path: Path):
    inner = '<httpSample t="7" ts="1" s="true" lb="image"/>'
    path = written(
        tmp_path, f'<testResults version="1.2">\n<httpSample t="9" s="true" lb="page">{inner}</httpSample>\n'
    )
    found = samples(read(jmeter.IMPORTERS, path))
    assert {name: it.total for name, it in found.items()} == {"page": 9}
    assert codes(found["page"]) == ["file-cut-off"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('<!DOCTYPE x [<!ENTITY a "aa">]><testResults><sample t="1" lb="a"/></testResults>', "unexpected"),
        ('<testResults><sample t="x" lb="a"/></testResults>', "unexpected"),
        ('<testResults><sample t="-1" lb="a"/></testResults>', "unexpected"),
        ('<testResults><sample t="1" lb="a"></testResults>', "invalid"),
        ('<testResults><sample t="1" s="false" lb="a"/></testResults>', "no-successful-requests"),
        ("<testResults>" + "<sample t='1' lb='a'>" * 100 + "</testResults>", "too-many"),
        ("<testResults>\n<!-- " + ("x" * 900_000 + "\n") * 3 + " -->", "unexpected"),
    ],
)
def test_a_jtl_that_cannot_be_used_is_refused(tmp_path: Path, body: str, code: str):
    assert code in fault(jmeter.IMPORTERS, written(tmp_path, body))


def test_rows_of_hey_are_samples_and_errors_are_left_out():
    found = samples(read(hey.IMPORTERS, FIXTURES / "hey/hey-0.1.4.csv"))["all"]
    rows = [line.split(",") for line in (FIXTURES / "hey/hey-0.1.4.csv").read_text().splitlines()[1:]]
    good = [1e3 * float(row[0]) for row in rows if int(row[6]) < 400]
    assert (found.count, found.total) == (len(good), pytest.approx(sum(good)))
    assert codes(found) == ["rows-failed"]


def test_a_row_of_hey_that_is_none_is_a_fault(tmp_path: Path):
    path = changed(tmp_path, "hey/hey-0.1.4.csv", "0.0043,", "slow,")
    assert "unexpected" in fault(hey.IMPORTERS, path)


def test_raw_data_of_ycsb_are_samples_of_each_operation():
    found = samples(read(ycsb.IMPORTERS, FIXTURES / "ycsb/ycsb-0.17-raw.txt"))
    assert {name: (it.count, it.zeros) for name, it in found.items()} == {"READ": (103, 4), "UPDATE": (97, 1)}
    assert found["READ"].total == pytest.approx(291.179)


def test_failed_operations_of_ycsb_are_left_out(tmp_path: Path):
    rows = (
        "READ latency raw data: op, timestamp(ms), latency(us)\nREAD,1795632345547,500\nREAD-FAILED,1795632345548,9\n"
    )
    found = samples(read(ycsb.IMPORTERS, written(tmp_path, rows)))
    assert {name: it.total for name, it in found.items()} == {"READ": 0.5}
    assert codes(found["READ"]) == ["rows-failed"]
