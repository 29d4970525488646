"""The purposes of functions. The symbols of tests/data/functions.csv were seen by perf, or libraries export them."""

import pytest

from support.data import rows_of
from tdelta.engines.registry import profiles
from tdelta.profiling.functions import Functions
from tdelta.records import FunctionClass as C

NAMES = Functions(one.functions for one in profiles())
APSW = "__init__.cpython-311-x86_64-linux-gnu.so"
SQLCIPHER = "_sqlite3.cpython-311-x86_64-linux-gnu.so"
DUCKDB = "_duckdb.cpython-311-x86_64-linux-gnu.so"


SEEN = [(row["file"], row["symbol"], C[row["class"]]) for row in rows_of("functions.csv")]


@pytest.mark.parametrize(("dso", "symbol", "expected"), SEEN)
def test_a_function_is_of_its_class(dso: str, symbol: str, expected: C) -> None:
    assert NAMES.class_of(symbol, dso, is_kernel=dso == "[kernel.kallsyms]") is expected


def test_a_function_of_the_database_schedules_nothing_whatever_it_is_called() -> None:
    assert NAMES.class_of("schedule", "mariadbd") is C.DATABASE


def test_files_are_called_as_people_know_them() -> None:
    assert [NAMES.called(dso) for dso in (APSW, SQLCIPHER, DUCKDB, "_native.abi3.so", "libcrypto.so.3", "[vdso]")] == [
        *("apsw", "sqlcipher3", "duckdb", "tdelta"),
        *("libcrypto.so.3", "[vdso]"),
    ]


def test_functions_of_an_engine_are_known_by_its_profile() -> None:
    assert Functions().class_of("walChecksumBytes", APSW) is C.DATABASE
    assert Functions().called(APSW) == "__init__"
