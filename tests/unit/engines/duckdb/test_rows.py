"""Files that analytic engines are filled from: every value of every distribution in order, and what full disks say."""

import csv
import errno
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.generated import COLUMNS as EVERY
from support.generated import generated
from support.refused import Part, refused
from tdelta import _native
from tdelta.engines.duckdb.database import write_files
from tdelta.engines.duckdb.engine import PROGRAM
from tdelta.engines.duckdb.twins import GeneratedRows
from tdelta.errors import StorageFault, TdeltaError
from tdelta.processes import PopulateJob, TwinFolder, Worker

SEED = 20_26
ROWS = 5000
COLUMNS: list[dict[str, Any]] = [
    EVERY["serial"],
    {"name": "parent", "distribution": "parent", "table": "few", "fanout": 2500},
    {"name": "line", "distribution": "line", "fanout": 2500},
    {"name": "hot", "distribution": "ref", "table": "few", "pick": "zipf", "s": 1.2},
    {"name": "fixed", "distribution": "const", "value": 'a "b", c'},
    {"name": "negative", "distribution": "const", "value": -0.5},
    EVERY["uniform"],
    {"name": "rank", "distribution": "zipf", "lo": 10, "hi": 20, "s": 1.5},
    *(EVERY[kind] for kind in ("gaussian", "decimal", "text", "words", "pattern")),
    {"name": "lines", "distribution": "choice", "values": ["a\nb", " padded ", "é", "", None, 'say "so"']},
    {"name": "pick", "distribution": "choice", "values": ["a", 2, 0.5, None, 1.0], "weights": [5, 3, 1, 1, 1]},
    {"name": "when", "distribution": "timestamp", "start": 1_600_000_000, "end": 1_700_000_000},
]
PLAN: dict[str, Any] = {
    "tables": [
        {"name": "few", "rows": 2, "columns": [{"name": "body", "distribution": "bytes", "hex": ["00ff", "5c4e"]}]},
        {"name": "every distribution", "rows": ROWS, "columns": COLUMNS},
        {"name": "none", "rows": 0, "columns": [{"name": "id", "distribution": "serial"}]},
    ]
}


def as_python_writes(rows: list[tuple[Any, ...]]) -> str:
    """The same file by Python's own writer."""
    file = io.StringIO(newline="")
    told = [[r"\N" if v is None else v.hex().upper() if isinstance(v, bytes) else v for v in row] for row in rows]
    csv.writer(file, lineterminator="\n").writerows(told)
    return file.getvalue()


def files_in(folder: Path, plan: Mapping[str, Any]) -> dict[str, str]:
    return {table["name"]: str(folder / f"{number}.csv") for number, table in enumerate(plan["tables"])}


def job_of(plan: Mapping[str, Any]) -> PopulateJob:
    tables = tuple((table["name"], tuple(column["name"] for column in table["columns"])) for table in plan["tables"])
    return PopulateJob(plan, SEED, (), (), tables)


def test_every_distribution_is_written_byte_for_byte_as_python_would_write_it(tmp_path: Path) -> None:
    files = files_in(tmp_path, PLAN)
    sizes = write_files(PLAN, SEED, files)
    for table, rows in generated(tmp_path, PLAN, SEED).items():
        written = Path(files[table]).read_bytes()
        assert written.decode() == as_python_writes(rows), table
        assert sizes[table] == len(written)
    assert sizes["none"] == 0


def test_doubles_of_any_size_read_back_as_they_were(tmp_path: Path) -> None:
    values = [1e-05, 1.5e-7, 1e16, 1e22, 1e300, 5e-324, 123456789.125, -2.5e-10, 0.1]
    columns = [
        {"name": "pick", "distribution": "choice", "values": values},
        {"name": "small", "distribution": "decimal", "lo": 0, "hi": 0.001, "places": 9},
    ]
    plan = {"tables": [{"name": "t", "rows": 2000, "columns": columns}]}
    files = files_in(tmp_path, plan)
    write_files(plan, SEED, files)
    with Path(files["t"]).open(newline="") as file:
        found = [tuple(map(float, row)) for row in csv.reader(file)]
    assert found == generated(tmp_path, plan, SEED)["t"]
    assert {one for one, _ in found} == set(values)


def test_the_text_that_stands_for_null_is_quoted_where_it_is_a_text(tmp_path: Path) -> None:
    values = ["\\N", None, "\\n", "a\rb"]
    column = {"name": "x", "distribution": "choice", "values": values}
    plan = {
        "tables": [
            {"name": "t", "rows": 200, "columns": [{"name": "one", "distribution": "const", "value": 1}, column]}
        ]
    }
    files = files_in(tmp_path, plan)
    write_files(plan, SEED, files)
    lines = Path(files["t"]).read_bytes().decode().removesuffix("\n").split("\n")
    assert set(lines) == {'1,"\\N"', "1,\\N", "1,\\n", '1,"a\rb"'}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_byte(tmp_path: Path, threads: int) -> None:
    one, other = tmp_path / "1.csv", tmp_path / "other.csv"
    _native.write_csv(json.dumps(PLAN), "every distribution", SEED, 1, one)
    other.write_text("what was there before, and longer than nothing\n")
    _native.write_csv(json.dumps(PLAN), "every distribution", SEED, threads, other)
    assert one.read_bytes() == other.read_bytes()


def test_a_folder_that_is_not_there_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        _native.write_csv(json.dumps(PLAN), "few", SEED, 2, tmp_path / "nowhere" / "0.csv")
    assert raised.value.filename == str(tmp_path / "nowhere" / "0.csv")


def test_a_runs_rows_are_written_by_a_worker_and_removed(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder, Worker(program=PROGRAM) as worker:
        rows = GeneratedRows(folder, job_of(PLAN))
        files = rows.write(worker)
        assert files == rows.files()
        assert Path(files["every distribution"]).read_bytes().count(b"\n") >= ROWS
        rows.remove()
        assert not rows.path.exists()


def test_a_worker_that_cannot_write_is_a_fault_of_the_storage(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder, Worker(program=PROGRAM) as worker:
        rows = GeneratedRows(folder, job_of(PLAN))
        files = dict.fromkeys(rows.files(), "/dev/full")
        rows.files = lambda: files  # type: ignore[method-assign]
        with refused(StorageFault, "disk-refuses", said=Part(os.strerror(errno.ENOSPC))):
            rows.write(worker)


def test_rows_that_duckdb_does_not_find_in_the_files_are_told(tmp_path: Path) -> None:
    with TwinFolder(tmp_path, "r1") as folder:
        rows = GeneratedRows(folder, job_of(PLAN))
        found = {"few": (2, ""), "every distribution": (ROWS, ""), "none": (0, "")}
        rows.check(found)
        with pytest.raises(TdeltaError, match=r"every distribution: .*5,000.*4,999"):
            rows.check({**found, "every distribution": (ROWS - 1, "")})
