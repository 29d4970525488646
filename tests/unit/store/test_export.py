import csv
import errno
import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from support.examples import MACHINE, VERSIONS, result_of, settings_of, trial_of
from support.refused import Part, refused
from tdelta.errors import StorageFault, UnknownName
from tdelta.records import RunResult, RunSettings, Trial
from tdelta.records.findings import FINDINGS
from tdelta.store import Store, decode, export

RUN = settings_of().run_id


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.sqlite") as opened:
        opened.create_run(settings_of(), MACHINE, VERSIONS)
        yield opened


def rows_of(store):
    out = io.StringIO()
    export.write_csv(store, RUN, out)
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def test_csv_has_one_row_a_trial_in_order_with_one_column_a_value(store):
    store.add_trial(RUN, trial_of(position=1))
    store.add_trial(RUN, trial_of(position=0))
    first, second = rows_of(store)
    assert (first["position"], second["position"]) == ("0", "1")
    assert second["role"] == "aa"
    assert first["run_id"] == RUN
    assert (first["cipher"], first["threads"], first["condition"]) == ("none", "1", "cipher=none,threads=1")
    assert (first["operations"], first["elapsed_ns"]) == ("500", "250000000")
    assert (first["tx_browse_count"], first["tx_browse_mean_ns"]) == ("400", "400000.0")
    assert first["response_mean_ns"] == "480000.0"
    assert (first["errors_count"], first["error_busy_count"], first["retries_count"]) == ("2", "2", "0")
    assert (first["files_wal_bytes"], first["engine_cache_hit"], first["pressure_cpu_some_share"]) == (
        "4096",
        "9000",
        "0.01",
    )


def test_csv_columns_are_those_of_all_trials_and_what_one_lacks_is_empty(store):
    bare = replace(trial_of(block=1).measurement, transactions={}, engine_counters={"spills": 3})
    store.add_trial(RUN, trial_of())
    store.add_trial(RUN, replace(trial_of(block=1), measurement=bare))
    first, second = rows_of(store)
    assert (first["engine_spills"], second["engine_spills"]) == ("", "3")
    assert (second["tx_browse_count"], second["tx_browse_mean_ns"]) == ("", "")


def test_csv_of_a_run_without_trials_is_a_header(store):
    out = io.StringIO()
    export.write_csv(store, RUN, out)
    assert out.getvalue().startswith(
        "run_id,round,block,position,instance,started_unix_seconds,condition,role,stratum,"
    )
    assert out.getvalue().count("\n") == 1


def test_json_holds_everything_and_decodes_to_equal_records(store):
    store.add_trial(RUN, trial_of())
    store.add_trial(RUN, trial_of(position=1))
    store.put_fact(RUN, "operations_per_trial", 500)
    store.finish(RUN, result_of(settings_of()))
    out = io.StringIO()
    export.write_json(store, RUN, out)
    document = json.loads(out.getvalue())
    assert document["schema"] == "tdelta.export/1"
    assert (document["run_id"], document["status"]) == (RUN, "done")
    assert (document["machine"], document["versions"]) == (MACHINE, VERSIONS)
    assert document["facts"] == {"operations_per_trial": 500}
    assert decode(RunSettings, document["settings"]) == settings_of()
    assert decode(RunResult, stored_as(document["result"])) == result_of(settings_of())
    assert [decode(Trial, trial) for trial in document["trials"]] == [trial_of(), trial_of(position=1)]


def stored_as(result):
    checks = [{name: of[name] for name in of if name not in ("check", "detail")} for of in result["validity"]]
    cautions = result["caution_codes"]
    kept = {name: value for name, value in result.items() if name != "caution_codes"}
    verdicts = [
        {name: of["reason_codes" if name == "reasons" else name] for name in of if name != "reason_codes"}
        for of in result["verdicts"]
    ]
    findings = []
    for kind in FINDINGS.keys() & kept.keys():
        found = kept.pop(kind)
        findings += [{"finding": kind, **one} for one in (found if isinstance(found, list) else [found]) if one]
    return kept | {"validity": checks, "cautions": cautions, "verdicts": verdicts, "findings": findings}


def test_json_of_an_unfinished_run_has_no_result(store):
    out = io.StringIO()
    export.write_json(store, RUN, out)
    document = json.loads(out.getvalue())
    assert document["result"] is None
    assert document["trials"] == []


@pytest.mark.parametrize("file_format", export.FORMATS)
def test_a_file_holds_what_a_stream_would_get(store, tmp_path, file_format):
    store.add_trial(RUN, trial_of())
    out = io.StringIO()
    export.write(store, RUN, file_format, out)
    export.write(store, RUN, file_format, tmp_path / "run.out")
    assert (tmp_path / "run.out").read_text() == out.getvalue()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.out", "runs.sqlite", "runs.sqlite-journal"]


def test_an_unknown_format_names_the_known_ones(store):
    with refused(UnknownName, "unknown", found=Part("jsn"), hint=Part("json")):
        export.write(store, RUN, "jsn", io.StringIO())


@pytest.mark.parametrize("file_format", export.FORMATS)
def test_an_unknown_run_leaves_no_file(store, tmp_path, file_format):
    with pytest.raises(UnknownName):
        export.write(store, "nowhere", file_format, tmp_path / "run.out")
    assert not (tmp_path / "run.out").exists()


def test_a_failed_export_leaves_the_old_file_and_no_part_of_the_new(store, tmp_path, monkeypatch):
    store.add_trial(RUN, trial_of())
    target = tmp_path / "run.json"
    target.write_text("old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tdelta.store.export.os.fsync", full)
    with refused(StorageFault, "path-unusable", path=target, fault=os.strerror(errno.ENOSPC)):
        export.write_json(store, RUN, target)
    assert target.read_text() == "old"
    assert not list(tmp_path.glob("*.part"))
    assert not list(tmp_path.glob(".*.part"))


def test_a_folder_that_is_not_there_is_told(store, tmp_path):
    with refused(StorageFault, "path-unusable", path="run.csv", fault="No such file or directory"):
        export.write_csv(store, RUN, tmp_path / "nowhere" / "run.csv")


def test_a_device_is_written_to_and_not_replaced(store):
    with refused(StorageFault, "path-unusable", path="/dev/full", fault=os.strerror(errno.ENOSPC)):
        export.write_json(store, RUN, Path("/dev/full"))
    assert not Path("/dev/full").is_file()


def test_a_symbolic_link_keeps_pointing_at_the_file_that_is_written(store, tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.touch()
    link.symlink_to(real)
    export.write_csv(store, RUN, link)
    assert link.is_symlink()
    assert real.read_text().startswith("run_id,")


def test_requests_in_flight_are_not_called_a_share(store):
    trial = trial_of()
    measured = replace(trial.measurement, pressure={"io_some": 0.5, "io_in_flight": 12.5})
    store.add_trial(RUN, replace(trial, measurement=measured))
    (row,) = rows_of(store)
    assert (row["pressure_io_some_share"], row["pressure_io_in_flight"]) == ("0.5", "12.5")


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ('=HYPERLINK("http://evil")', "'=HYPERLINK"),
        ("@SUM(A1)", "'@SUM"),
        ("\t=1", "'\t=1"),
        ("+cmd|' /C calc'!A0", "'+cmd"),
        ("-2+3+cmd|x", "'-2"),
        ("+log", "+log"),
        ("-", "-"),
        (-5.5, "-5.5"),
        ("a=b", "a=b"),
    ],
)
def test_a_text_is_no_formula_to_a_spreadsheet(cell: str | float, written: str) -> None:
    out = io.StringIO()
    export.write_rows(out, ["a", str(cell)], [{"a": cell}])
    header, row = list(csv.reader(io.StringIO(out.getvalue())))
    assert row[0].startswith(written)
    assert header[1].startswith(written)
