import contextlib
import io
import json
import re
from functools import cache
from typing import Any

import pytest

from support.refused import Part, refused
from tdelta.cli.main import main
from tdelta.design.actions import parse_action
from tdelta.engines.registry import ENGINES, dialects, profiles
from tdelta.errors import UnknownName, UsageError
from tdelta.findings.published import STATEMENT
from tdelta.records.analysis import Model
from tdelta.session.answer import overridden
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.run_plan import check
from tdelta.session.studies import (
    Study,
    check_study,
    engines_of,
    needs_private_instances,
    studies,
    study,
    study_cautions,
    table,
    tables,
)
from tdelta.workloads import load


@pytest.mark.parametrize("asked", [{"rate": 100.0}, {"rate": "50%"}, {"vary": {"rate": ("50%", "80%")}}])
def test_trials_of_an_open_loop_are_longer_whoever_asks(asked: dict[str, object]) -> None:
    assert RunRequest(**asked).trial_seconds == 2.0
    assert RunRequest(**{**asked, "trial_seconds": 0.5}).trial_seconds == 0.5


def test_without_a_study_nothing_is_added() -> None:
    assert RunRequest(threads=2) == RunRequest().replace(threads=2)
    assert overridden(RunRequest(threads=2)) == ()


def test_order_entry_is_the_published_factorial() -> None:
    request = RunRequest(study="order-entry")
    assert request.vary == {"cipher": ("aes-128", "aes-256"), "aes_instructions": ("on", "off")}
    assert (request.threads, request.workload) == (4, "order-entry")
    assert request.max_seconds < 360, "the issue allows six minutes"
    assert overridden(request) == ()
    assert overridden(request.replace(bb_control=True)) == (), "which the run decides by its time"


def test_the_warehouse_is_queried_from_memory_and_from_disk() -> None:
    request = RunRequest(study="warehouse")
    works = ("load", "rebuild", "warm", "cold")
    assert request.vary == {"work": works, "cipher": ("aes-256-gcm", "aes-256-gcm-mbedtls")}, (
        "software AES, as published"
    )
    assert RunRequest(study="warehouse", engine="mariadb").vary == {"work": works}, "the cipher is its own"
    assert (request.engine, request.workload, request.cache) == ("duckdb", "warehouse", 1.2)
    assert request.max_seconds <= 900, "the issue allows fifteen minutes"
    published = RunRequest(study="warehouse", study_size="published")
    rows = load("warehouse", dialects()).rows(load("warehouse", dialects()).scale_for(published.size_bytes))
    assert rows == {"fact_sales": pytest.approx(100_000_000, rel=0.01)}


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "mariadb", "mysql", "postgres"])
def test_the_warehouse_fits_every_engine(engine: str) -> None:
    for size in ("", "published"):
        request = RunRequest(**{"study": "warehouse", "engine": engine} | ({"study_size": size} if size else {}))
        assert (request.warmup_seconds or 0.0) < request.trial_seconds
        assert (request.max_seconds > 900) is (size == "published")


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "mariadb", "mysql", "postgres"])
def test_spilling_fits_every_engine_and_has_less_memory_than_data(engine: str) -> None:
    request = RunRequest(study="spill", engine=engine)
    assert overridden(request) == ()
    assert request.max_seconds <= 900, "the issue allows fifteen minutes"
    assert load(request.workload or "", dialects()).spills
    memory = request.session_memory or request.cache * request.size_bytes
    assert memory < request.size_bytes
    has_scopes = engine in ("mariadb", "duckdb")
    assert request.vary.get("scope") == (("data", "+temp") if has_scopes else None)


RUN = [(one.name, engine) for one in studies() if one.runs for engine in ENGINES if one.runs_on(engine)]


@pytest.mark.parametrize(("study", "engine"), RUN)
def test_a_study_is_its_own_settings_and_short(study: str, engine: str) -> None:
    request = RunRequest(study=study, engine=engine)
    assert overridden(request) == ()
    minutes = 25 if study == "read-only-sweep" else 15
    assert request.max_seconds <= 60 * minutes
    for level in request.vary.get("during", ()):
        parse_action(str(level))


def test_a_study_runs_on_the_engines_that_it_has_settings_for_or_on_any() -> None:
    by_name = {one.name: one for one in studies()}
    assert by_name["capacity"].runs_on("oracle")
    assert by_name["replicate"].runs_on("mysql")
    assert not by_name["replicate"].runs_on("sqlite")
    assert not by_name["response-times"].runs_on("sqlite"), "it runs nothing"


@pytest.mark.parametrize("study", studies(), ids=lambda study: study.name)
def test_a_file_of_a_study_names_engines_and_options_that_exist(study: Study) -> None:
    assert {*study.of_engines, *study.on_own_servers} <= ENGINES.keys()
    own = {**study.of_engines, "": study.settings, "published": study.at_published_size}
    for settings in (*own.values(), *study.on_own_servers.values()):
        assert settings.keys() <= OPTIONS.keys()
    for engine, settings in study.of_engines.items():
        assert settings.items() <= study.settings_for(engine, "").items()


def test_an_option_that_is_typed_goes_before_the_study_and_is_told() -> None:
    request = RunRequest(study="order-entry", threads=1, seed=5)
    assert request.threads == 1
    assert overridden(request) == (("threads", "1", "4"),)


def test_settings_that_were_changed_are_written_as_they_are_typed() -> None:
    changed = {"size_bytes": 20_000_000, "max_seconds": 420.0, "min_rounds": 1, "max_rounds": 2, "aa_control": False}
    assert [str(one) for one in overridden(RunRequest(study="order-entry", **changed))] == [
        "--size 20MB instead of 50MB",
        "--no-aa given instead of not given",
        "--rounds 1..2 instead of 3",
        "--max-time 7m instead of 5m",
    ]


def test_a_threshold_asks_more_of_the_same_trials_and_changes_no_study() -> None:
    assert overridden(RunRequest(study="order-entry", latency_limit_seconds=0.02)) == ()


def test_a_factor_that_is_typed_replaces_the_studys_levels_of_that_factor_only() -> None:
    request = RunRequest(study="order-entry", vary={"cipher": ("chacha20",)})
    assert request.vary == {"aes_instructions": ("on", "off"), "cipher": ("chacha20",)}
    assert overridden(request) == (("cipher", "chacha20", "aes-128, aes-256"),)


def test_a_setting_of_the_study_can_be_varied_instead() -> None:
    request = RunRequest(study="order-entry", vary={"threads": (1, 4)})
    assert request.threads == RunRequest().threads
    assert request.vary["threads"] == (1, 4)
    assert overridden(request) == (("threads", "1, 4", "4"),)


def test_unknown_and_planned_studies_are_refused() -> None:
    with refused(UnknownName, "unknown", found=Part("order_entry"), hint=Part("order-entry")):
        RunRequest(study="order_entry")
    planned = [study.name for study in studies() if not study.runs]
    for name in planned:
        with refused(UsageError, "study-does-not-run", study=name, command=Part("tdelta analyze published")):
            RunRequest(study=name)


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


PERCENTAGES = ("percona-pg-tde", "percona-pg-tde-wal", "scaleway", "scaleway-load")
"""Those that were published as percentages, and are reconstructed."""

BARE = (
    *("read-only-sweep", "warehouse", "dml-trace", "dml-statements", "cybertec-tde", "duckdb-summarize", "duckdb-tpch"),
    *PERCENTAGES,
)


@cache
def analyzed(name: str, *options: str) -> dict[str, Any]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main(["analyze", f"published:{name}", "--json", *options])
    values = json.loads(out.getvalue())
    assert values["exit_code"] == ended.value.code
    return dict(values)


def quotients(name: str, metric: str, **levels: object) -> dict[str, float]:
    found = {}
    for c in analyzed(name)["comparisons"]:
        if c["metric"] == metric and levels.items() <= c["levels"].items():
            rest = [str(level) for factor, level in c["levels"].items() if factor not in levels]
            found[" ".join(rest) or c["transaction"]] = c["quotient"]
    return found


def rounded(found: dict[str, float], places: int = 2) -> dict[str, str]:
    return {name: f"{value:.{places}f}" for name, value in found.items()}


def test_every_table_names_its_source_with_a_year_or_says_that_there_is_none() -> None:
    assert {t.name for t in tables()} >= {*BARE, "response-times"}
    assert all(re.search(r"\b(20\d\d|year not given)\b", t.source) for t in tables())
    assert all(t.title and t.rows for t in tables())


@pytest.mark.parametrize("name", BARE)
def test_one_figure_a_cell_is_undecided_for_want_of_replication(name: str) -> None:
    found = analyzed(name)
    assert (found["decision"], found["exit_code"]) == ("undecided", 3)
    for c in found["comparisons"]:
        assert (c["decision"], c["model"], c["ratio"], c["difference"]) == ("undecided", Model.NONE, None, None)
        assert "no-replication" in [reason["code"] for reason in c["reason_codes"]]
    assert found["source"] == table(name).source


def test_the_sweep_gives_what_its_authors_printed() -> None:
    printed = [c for c in analyzed("read-only-sweep")["comparisons"] if c["published"]]
    assert len(printed) == 11
    assert all(f"{c['quotient']:.2f}" == c["published"] for c in printed)


def test_the_warehouse_gives_its_cpu_and_elapsed_times() -> None:
    cpu = {"rebuild of the clustered key": "1.12", "SUM from disk": "4.72", "SUM from memory": "1.01"}
    elapsed = {"rebuild of the clustered key": "1.30", "SUM from disk": "1.50", "SUM from memory": "1.00"}
    assert rounded(quotients("warehouse", "cpu")) == cpu
    assert rounded(quotients("warehouse", "elapsed")) == elapsed


def test_the_trace_gives_its_platforms() -> None:
    assert rounded(quotients("dml-trace", "elapsed")) == {"AIX": "2.17", "Linux, AES-NI": "1.34"}


def test_the_statements_that_write_pay_and_selects_from_the_cache_do_not() -> None:
    cpu, elapsed = (quotients("dml-statements", metric) for metric in ("cpu", "elapsed"))
    for found in (cpu, elapsed):
        assert all(found[name] > 1.9 for name in ("insert", "delete", "update"))
        assert found["select (fetch)"] == pytest.approx(1.0, abs=0.06)


def of_whole_runs(name: str) -> list[float]:
    """The study's ratios but for those of single statements."""
    return [one.ratio for one in study(name).figures if one.ratio and STATEMENT not in dict(one.levels)]


def test_what_runs_show_beside_them_is_what_analyze_makes_of_the_same_files() -> None:
    by_name = {
        "read-only-sweep": quotients("read-only-sweep", "throughput"),
        "dml-trace": quotients("dml-trace", "elapsed"),
    }
    for name, found in by_name.items():
        assert sorted(found.values()) == pytest.approx(sorted(of_whole_runs(name)))
    warehouse = [*quotients("warehouse", "cpu").values(), *quotients("warehouse", "elapsed").values()]
    assert sorted(warehouse) == pytest.approx(sorted(f.ratio for f in study("warehouse").figures if f.ratio))


def test_the_reconstructed_response_times_give_the_published_interval() -> None:
    found = analyzed("response-times", "--prior", "published")
    assert any("reconstruction" in caution for caution in found["cautions"])
    (only,) = found["comparisons"]
    assert only["difference"]["hdi95"] == pytest.approx([-0.69, 1.89], abs=0.05)


def test_studies_name_the_tables_there_are() -> None:
    named = [name for study in studies() for name in study.tables]
    assert len(named) == len(set(named))
    assert set(named) <= {t.name for t in tables()}


@pytest.mark.parametrize("name", [one.name for one in tables()])
def test_an_answer_says_what_a_published_table_can_and_cannot_show(name: str) -> None:
    assert "published-table" in [caution["code"] for caution in analyzed(name)["caution_codes"]]


@pytest.mark.parametrize("name", PERCENTAGES)
def test_what_was_published_as_a_percentage_is_called_a_reconstruction_and_gives_that_percentage(name: str) -> None:
    found = analyzed(name)
    assert any("reconstruction" in caution for caution in found["cautions"])
    for c in found["comparisons"]:
        printed = c["published"]
        share = 0.0 if printed == "none" else float(printed.replace("−", "-").strip("+ %")) / 100
        cost = c["quotient"] - 1 if c["metric"] == "elapsed" else 1 / c["quotient"] - 1
        shares = {share, share - 1} if name == "percona-pg-tde-wal" else {share}  # what was left, not what was lost
        assert any(cost == pytest.approx(one) for one in shares), (c, printed)


def test_the_figures_of_the_newer_tables_are_those_that_were_printed() -> None:
    lost = {str(c["levels"]): 1 / c["quotient"] - 1 for c in analyzed("duckdb-tpch")["comparisons"]}
    assert sorted(f"{100 * value:.1f}" for value in lost.values()) == ["-3.4", "-5.4"]
    overheads = [c["quotient"] - 1 for c in analyzed("cybertec-tde")["comparisons"]]
    assert (len(overheads), f"{100 * min(overheads):.2f}", f"{100 * max(overheads):.2f}") == (6, "0.15", "0.66")
    summarize = analyzed("duckdb-summarize")["comparisons"]
    assert rounded({c["condition"]["condition"]: c["quotient"] for c in summarize}) == {
        "mbedtls": "1.15",
        "openssl": "1.00",
    }
