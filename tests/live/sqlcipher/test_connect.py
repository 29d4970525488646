from pathlib import Path

import pytest
from sqlite.test_answers import checks

import tdelta.workloads
from support.codes import check_refused
from support.refused import Part
from support.running import ONCE, PATIENCE_SECONDS, Answered, Place, waited_for
from tdelta.engines.sqlite.engine import WORKER, SqliteEngine
from tdelta.engines.sqlite.libraries import SQLCIPHER
from tdelta.errors import TdeltaError
from tdelta.processes import TrialJob, Worker

from .opening import KEY, made, settings

CONNECT = ("--workload", "connect", "--size", "1MB", "--no-aa", "--no-bb")


def mean_ns(trials: list, cipher: str, statement: str) -> float:
    """Mean time of the least disturbed trial: other processes of the suite push some aside."""
    spans = [trial["statements"][statement] for trial in trials if trial["cipher"] == cipher]
    return min(span["total_ns"] / span["count"] for span in spans)


@pytest.fixture(scope="module", params=["sqlite3mc", "sqlcipher"])
def connected(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    return Place(tmp_path_factory.mktemp("connected")).answered("--library", request.param, *CONNECT)


def test_a_connection_with_a_key_costs_more_than_one_without(connected: Answered) -> None:
    assert "failed" not in {state for state, _ in checks(connected.document).values()}
    trials = connected.place.trials()
    assert {name for trial in trials for name in trial["statements"]} == {"connect/1", "connect/2"}
    # Deriving a key from a passphrase is thousands of hashes, and the plain twin does none of them.
    assert mean_ns(trials, "aes-256", "connect/1") > mean_ns(trials, "none", "connect/1")
    spans = [(trial["transactions"]["connect"], trial["statements"].values()) for trial in trials]
    assert all(whole["total_ns"] >= sum(part["total_ns"] for part in parts) for whole, parts in spans)


def test_what_the_engine_counted_on_closed_connections_is_not_lost(connected: Answered) -> None:
    for trial in connected.place.trials():
        # Every connection starts with an empty cache: it misses the first page, the schema's, and a leaf at least.
        assert trial["engine_counters"]["cache_misses"] >= 3 * trial["total_operations"]


@pytest.mark.parametrize("connected", ["sqlcipher"], indirect=True)
def test_a_raw_key_spares_sqlcipher_the_derivation_that_is_the_default(connected: Answered, place: Place) -> None:
    document = place.answer("--library", "sqlcipher", "--key", "raw", *CONNECT)
    assert document["settings"]["options"]["key"] == "raw"
    assert connected.document["settings"]["options"]["key"] == "passphrase"
    raw, derived = (mean_ns(of.trials(), "aes-256", "connect/1") for of in (place, connected.place))
    assert derived > 2 * raw


MINE = """
\\set id random(1, :rows_sbtest1)
BEGIN;
UPDATE sbtest1 SET k = k + 1 WHERE id = :id;
COMMIT;
\\if :op % 3 = 0
\\connect
\\endif
SELECT k FROM sbtest1 WHERE id = :id \\gset
\\set next :k + 1
BEGIN;
UPDATE sbtest1 SET k = :next WHERE id = :id;
COMMIT;
"""


@pytest.mark.parametrize("library", ["sqlite3mc", "sqlcipher"])
def test_a_script_may_connect_between_its_transactions_whatever_the_threads(place: Place, library: str) -> None:
    mine = place.base / "mine"
    mine.mkdir()
    for file in (Path(tdelta.workloads.__file__).parent / "point_select").iterdir():
        (mine / file.name).write_text(file.read_text())
    (mine / "point_select.sql").write_text(MINE)
    document = place.answer(
        *("--library", library, "--workload", "./mine", "--size", "1MB", "--vary", "threads=1,4", "--no-aa"),
        *(("--key", "raw", *ONCE) if library == "sqlcipher" else ONCE),
    )
    assert "failed" not in {state for state, _ in checks(document).values()}
    assert (document["errors"], document["counts"]["rounds"]) == ({}, 1)
    for trial in place.trials():
        assert 0 < trial["statements"]["point_select/4"]["count"] < trial["statements"]["point_select/1"]["count"]
        assert trial["syscall_written_bytes"] > 0


def test_a_file_that_goes_away_between_connections_ends_the_run_with_what_the_database_says(place: Place) -> None:
    process = place.start("run", "--json", *CONNECT, "--blocks", "200", "--rounds", "1..1", "--max-time", "300s")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("round 1:"):
            break
    for file in place.twins.rglob("*.db"):
        file.unlink()
    check_refused(
        waited_for(process, PATIENCE_SECONDS),
        "database-answer",
        said=Part("connect, line 3: "),
        fix=Part("use another --dir"),
    )
    assert list(place.twins.iterdir()) == []


RECONNECT = {"name": "reconnect", "weight": 1.0, "text": "SELECT 1;\n\\connect\nSELECT :op;"}


def test_a_connection_that_cannot_be_opened_again_ends_its_trial_and_the_worker_stays(tmp_path: Path) -> None:
    engine, wanted, path = SqliteEngine(SQLCIPHER), settings("aes-256"), tmp_path / "t.db"
    with made(engine, path, wanted) as file:
        file.text("CREATE TABLE t (a)")
    with Worker(program=WORKER) as worker:
        options = engine.opening(path, wanted, KEY)["options"]
        worker.ask("open", library="sqlcipher", options=options, connections=1)
        worker.ask("prepare", transactions=[RECONNECT], constants={})
        trial = TrialJob(seed=1, stream=1, operations=5, first_op=1, deadline_seconds=30.0).as_json()
        assert worker.ask("trial", trial=trial)["outcome"]["operations"] == 5
        path.unlink()
        path.mkdir()
        outcome = worker.ask("trial", trial=trial)["outcome"]
        assert (outcome["stopped_by"], outcome["errors"]) == ("error", {"cannot_open": 1})
        assert "unable to open database file" in outcome["first_error"]
        outcome = worker.ask("trial", trial=trial)["outcome"]
        assert outcome["errors"] == {"closed": 1}
        path.rmdir()
        with pytest.raises(TdeltaError):
            worker.ask("facts", queries={"pages": "PRAGMA page_count"})
        worker.ask("close")
