from pathlib import Path

import pytest

from support.refused import refused
from tdelta.errors import ImportFault
from tdelta.importers import benchbase, csv_rows
from tdelta.importers.detect import IMPORTERS, recognize
from tdelta.importers.reading import FileSource

from .given import FIXTURES, written


@pytest.mark.parametrize(
    "header",
    [
        "time(sec), throughput(req/sec), avg_lat(ms), min_lat(ms), 25th_lat(ms), median_lat(ms), max_lat(ms)",
        "time (seconds),throughput (requests/s),average,min,25th,median,75th,90th,95th,99th,max",
        "Transaction Type Index,Transaction Name,Start Time (microseconds),Latency (microseconds),Timed Out,Worker Id",
    ],
)
def test_older_headers_of_benchbase_are_no_general_csv(tmp_path: Path, header: str):
    row = ",".join("1" * (header.count(",") + 1))
    assert recognize(FileSource(written(tmp_path, f"{header}\n{row}\n")))[0] in benchbase.IMPORTERS


@pytest.mark.parametrize(
    "name", ["sysbench/hook-with-header.csv", "k6/k6-1.4.csv", "hey/hey-0.1.4.csv", "benchbase/tpcc.samples.csv"]
)
def test_csvs_of_tools_are_not_read_as_general_ones(tmp_path: Path, name: str):
    text = (FIXTURES / name).read_text()
    for importers, given in ((csv_rows.IMPORTERS, text), (IMPORTERS, f"# of Monday\n{text}")):
        with refused(ImportFault, "unexpected", expected="results of a known format"):
            recognize(FileSource(written(tmp_path, given)), importers)
