from tdelta.driver.answers import client_step, embedded_step
from tdelta.driver.jobs import LoadAndRebuild, PopulateJob
from tdelta.measure.usage import spent

JOB = PopulateJob(
    {"tables": []},
    7,
    ("CREATE TABLE a (x)", "CREATE TABLE b (x)"),
    ("CREATE INDEX i ON a (x)",),
    (("a", ("x",)), ("b", ("x",))),
)


def test_a_load_drops_what_is_there_and_makes_it_again() -> None:
    request = LoadAndRebuild(JOB).request("load", 3)
    assert request["before"] == ["DROP TABLE IF EXISTS a", "DROP TABLE IF EXISTS b"]
    assert request["load"] == {
        "plan": {"tables": []},
        "seed": 7,
        "threads": 3,
        "tables": JOB.tables_sql,
        "indexes": JOB.indexes_sql,
    }
    assert request["statements"] == []


def test_a_rebuild_is_the_workloads_own_statements() -> None:
    rebuild = LoadAndRebuild(JOB, ("VACUUM",)).request("rebuild", 3)
    assert rebuild == {"before": [], "load": None, "statements": ["VACUUM"]}


def test_what_some_work_took_is_elapsed_time_and_cpu_time() -> None:
    answer = spent(lambda: sum(range(300_000)))
    assert answer["elapsed_ns"] > 0
    measured = embedded_step("load", answer, 12)
    assert (measured.operations, measured.transactions["load"].count) == (1, 1)
    assert measured.engine_counters == {"rows": 12}
    assert measured.response_ns == answer["elapsed_ns"]
    assert 0.0 < measured.cpu_seconds <= 2e-9 * answer["elapsed_ns"] + 0.02


def test_of_a_server_the_worker_is_the_client() -> None:
    measured = client_step("rebuild", spent(lambda: sum(range(300_000))))
    assert measured.cpu_seconds == 0.0
    assert measured.client_cpu_seconds > 0.0
