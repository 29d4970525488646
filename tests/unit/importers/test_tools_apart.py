from pathlib import Path

import pytest

from tdelta.importers import benchbase
from tdelta.importers.detect import recognize
from tdelta.importers.reading import FileSource

from .given import written


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
