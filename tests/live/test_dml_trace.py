"""The study ``dml-trace`` at a small scale, on every engine that it is for."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.running import private_servers
from support.runs import failed_checks, studied
from tdelta.messages.checks import AA_CHECK

SMALL = ("--size", "3MB", "--trial-time", "0.2s", "--warmup", "0s", "--blocks", "2", "--rounds", "1..1")


@pytest.fixture(scope="module", params=["sqlite", *private_servers()])
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Any]]:
    engine = request.param
    for _, document in studied("dml-trace", engine, tmp_path_factory.mktemp(engine), *SMALL):
        yield engine, document


def test_servers_run_the_procedure_as_a_routine(traced: tuple[str, Any]) -> None:
    engine, document = traced
    routines = [one for one in document["actions"] if one["action"] == "routine"]
    if engine == "sqlite":
        assert not routines
        return
    assert {one["condition"]["cipher"] == "none" for one in routines} == {True, False}
    assert all(one["trials"] == 2 and one["seconds"]["median"] > 0 for one in routines)
    assert {cell["condition"]["work"] for cell in document["published"]} == {"routine"}


def statements(document: Any) -> dict[tuple[str, str], Any]:
    return {(one["statement"], one["condition"]["cipher"]): one for one in document["traces"]["statements"]}


def test_twins_are_alike_afterwards(traced: tuple[str, Any]) -> None:
    assert [check for check in failed_checks(traced[1]) if check != AA_CHECK] == []


def test_calls_for_an_encrypted_log_are_in_the_ciphers_line(traced: tuple[str, Any]) -> None:
    for breakdown in traced[1]["cost_breakdown"]:
        if breakdown["condition"].get("work") == "routine":  # nothing prices what a routine's trial reads and writes
            continue
        codes = {reason["code"] for reason in breakdown["unattributed"]}
        if any(line["is_timed"] for line in breakdown["components"]):
            assert "log-calls-in-cipher" in codes
        else:
            assert codes & {"calls-not-timed", "log-pages-in-cipher", "log-as-blocks"}


def test_every_statement_is_metered_on_both_twins(traced: tuple[str, Any]) -> None:
    _, document = traced
    found = statements(document)
    assert {name for name, _ in found} == {f"group/{number}" for number in range(1, 7)}
    calls = {name: one["calls"] for (name, _), one in found.items()}
    assert calls["group/3"] + calls["group/4"] == calls["group/1"]  # deletes of odd groups, updates of even ones
    assert abs(calls["group/3"] - calls["group/4"]) <= 2
    for (name, cipher), one in found.items():
        assert one["calls"] == calls[name], name
        assert one["cpu_us"] > 0.0
        assert one["elapsed_us"] > 0.0
        assert (one["cpu_ratio"] is None) == (cipher == "none"), name


def test_rows_reads_and_log_are_those_of_the_statement(traced: tuple[str, Any]) -> None:
    engine, document = traced
    found = statements(document)
    insert, delete, update, select = (found[f"group/{number}", "none"] for number in range(2, 6))
    assert 45 <= select["rows"] <= 55  # none of the groups that were deleted
    if engine != "postgres":
        assert [one["rows"] for one in (insert, delete, update)] == [100, 100, 100]
        # A row and its two entries of indexes at least; what else a server does meanwhile only adds.
        assert insert["reads"]["logical"] > 100
        assert select["reads"]["logical"] < insert["reads"]["logical"]
    if engine in ("mariadb", "postgres"):
        assert insert["log_bytes"] > 100 * 60
