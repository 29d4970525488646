"""The study ``spill`` at a small scale: all trials write temporary files, and what lies in them is told."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.runs import detail, failed_checks, studied
from tdelta.messages.checks import AA_CHECK, SPILLED

SMALL = ("--size", "2MB", "--trial-time", "0.2s", "--blocks", "2", "--rounds", "1..1")
CLEAR, HIDDEN = {"plain", "uncovered"}, {"encrypted"}
CONTENT = {
    "sqlite": {"none": {"temp": CLEAR}, "": {"temp": HIDDEN}},
    "mariadb": {
        "none": dict.fromkeys(("temp", "temp tables", "on-disk temp tables"), CLEAR),
        "data": dict.fromkeys(("temp", "temp tables", "on-disk temp tables"), CLEAR),
        # MariaDB's own: pages of such tables are written in the clear whatever encrypt_tmp_disk_tables says.
        "+temp": {"temp": HIDDEN, "temp tables": HIDDEN, "on-disk temp tables": CLEAR},
    },
}
"""By scope what may be found in each class of temporary files."""


@pytest.fixture(scope="module", params=sorted(CONTENT))
def spilled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    engine = request.param
    cache = "50%" if engine == "sqlite" else ""
    for _, document in studied("spill", engine, tmp_path_factory.mktemp(engine), *SMALL, cache=cache):
        yield engine, document


def scope_of(condition: dict[str, Any]) -> str:
    return str(condition.get("scope", "none" if condition["cipher"] == "none" else ""))


def test_every_trial_has_written_temporary_files(spilled: tuple[str, Any]) -> None:
    engine, document = spilled
    assert [check for check in failed_checks(document) if check != AA_CHECK] == []
    (state,) = [check["state"] for check in document["validity"] if check["code"] == SPILLED]
    assert state == "ok", detail(document, SPILLED)
    for found in document["temporary"]:
        assert found["spilled"] == found["trials"] == 2
        assert (
            found["written_bytes_per_operation"] > 500_000
        )  # a transaction sorts, groups or holds all of two megabytes
        assert (found["counters"] == {}) is (engine == "sqlite")


def test_what_lies_in_temporary_files_is_told_for_each_class_of_them(spilled: tuple[str, Any]) -> None:
    engine, document = spilled
    told = {scope_of(found["condition"]): found["files"] for found in document["temporary"]}
    assert told.keys() == CONTENT[engine].keys()
    for scope, classes in CONTENT[engine].items():
        assert told[scope].keys() == classes.keys()
        assert all(told[scope][name] in states for name, states in classes.items()), (scope, told[scope])
