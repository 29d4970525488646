import pytest

from tdelta.engines.registry import profiles
from tdelta.errors import UsageError
from tdelta.session.external_servers import check_study, engines_of, needs_private_instances, study_cautions
from tdelta.session.planning import check
from tdelta.session.request import RunRequest
from tdelta.session.studies import studies, study

RUNS = {"order-entry", "direct-load", "read-only-sweep", "warehouse", "dml-trace", "spill", "capacity", "soak"}
MYSQL = {"baseline": "mysql://u@db1/", "encrypted": "mysql://u@db2/"}
POSTGRES = {"baseline": "postgres://u@db1/a", "encrypted": "postgres://u@db2/a"}


def test_the_studies_that_run_are_those_that_start_no_server() -> None:
    assert {one.name for one in studies() if one.runs and not needs_private_instances(one)} == RUNS


@pytest.mark.parametrize("name", sorted(RUNS))
def test_they_run_on_the_servers_of_every_engine_that_are_reached_by_an_address(name: str) -> None:
    assert set(engines_of(study(name))) == {one.name for one in profiles() if one.address is not None}


def test_others_run_where_the_engine_says_how_and_analyses_nowhere() -> None:
    (engine,) = engines_of(study("backup"))
    assert engine in study("backup").on_own_servers
    assert not engines_of(study("restart"))
    assert not any(engines_of(one) for one in studies() if not one.runs)


@pytest.mark.parametrize("servers", [MYSQL, POSTGRES], ids=["mysql", "postgres"])
@pytest.mark.parametrize("name", sorted(RUNS))
def test_each_of_them_is_a_request_without_a_fault(name: str, servers: dict[str, str]) -> None:
    request = RunRequest(study=name, **servers)
    conditions = check(request)
    assert {str(one.level("cipher")) for one in conditions} == {"none", "encrypted"}
    assert not {"cache", "scope", "aes_instructions", "storage"} & request.vary.keys()


def test_a_warehouse_is_cold_where_sql_empties_the_caches() -> None:
    assert RunRequest(study="warehouse", **MYSQL).vary["work"] == ("load", "rebuild", "warm")


def test_what_is_typed_goes_before_what_the_study_sets() -> None:
    request = RunRequest(study="order-entry", threads=2, **MYSQL)
    assert request.threads == 2
    assert request.workload == "order-entry"


@pytest.mark.parametrize("name", ["backup", "convert", "replicate", "restart"])
def test_the_others_are_refused_with_those_that_run(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_study(name, "mariadb")
    (refusal,) = caught.value.refusals
    assert refusal.code == "study-on-own-servers"
    assert set(str(refusal.parameters["known"]).split(", ")) == RUNS


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        check(RunRequest(study="restart", cold=True, cache=0.5, **MYSQL))
    codes = {refusal.code for refusal in caught.value.refusals}
    assert codes == {"study-on-own-servers", "unsupported", "not-supported"}


def test_what_is_left_to_the_servers_is_named() -> None:
    of_study = {
        "vary": {"work": ("load", "cold"), "cipher": ("aes-128",), "aes_instructions": ("on", "off")},
        "cache": 0.5,
    }
    (said,) = study_cautions("direct-load", of_study, {"work": ("load",)})
    assert said.parameters["left"] == "aes_instructions, work=cold, cache"
    assert list(study_cautions("capacity", {"vary": {"rate": ("60%",)}}, {"rate": ("60%",)})) == []
