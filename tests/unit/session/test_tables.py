"""The published tables as they are shipped, and what ``tdelta analyze`` says of each: the figures of its study."""

import contextlib
import io
import json
import re
from functools import cache
from typing import Any

import pytest

from tdelta.cli.main import main
from tdelta.records.analysis import Model
from tdelta.session.studies import studies, study
from tdelta.session.tables import table, tables

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


def test_what_runs_show_beside_them_is_what_analyze_makes_of_the_same_files() -> None:
    by_name = {
        "read-only-sweep": quotients("read-only-sweep", "throughput"),
        "dml-trace": quotients("dml-trace", "elapsed"),
    }
    for name, found in by_name.items():
        assert sorted(found.values()) == pytest.approx(sorted(f.ratio for f in study(name).figures if f.ratio))
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
