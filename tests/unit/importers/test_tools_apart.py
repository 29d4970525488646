"""Files of Swingbench, HammerDB and BenchBase, within all formats: each is one importer's and nobody else's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdelta.importers import benchbase, hammerdb, swingbench
from tdelta.importers.reading import FileSource
from tdelta.importers.recognizing import IMPORTERS, recognize

from .given import FIXTURES, written

TOOLS = {"swingbench": swingbench.IMPORTERS, "hammerdb": hammerdb.IMPORTERS, "benchbase": benchbase.IMPORTERS}
EVERY = sorted((tool, path) for tool in TOOLS for path in (FIXTURES / tool).iterdir())


@pytest.mark.parametrize(("tool", "path"), EVERY, ids=[path.name for _, path in EVERY])
def test_a_tools_file_is_recognized_as_its_own(tool: str, path: Path):
    assert recognize(FileSource(path))[0] in TOOLS[tool]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*")), ids=lambda path: path.name)
def test_no_two_importers_recognize_one_fixture(path: Path):
    found = [importer.name for importer in IMPORTERS if importer.recognizes(FileSource(path))]
    assert len(found) <= 1, found


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
    assert recognize(FileSource(written(tmp_path, f"{header}\n{row}\n")))[0] in TOOLS["benchbase"]
