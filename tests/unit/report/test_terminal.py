import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from support import samples as s
from tdelta.records import RunResult
from tdelta.report.details import facts, run_blocks
from tdelta.report.drawing import draw


def test_verdicts_come_primary_first_then_cpu_then_bytes_then_transactions() -> None:
    labels = ["response time", "CPU ", "bytes read", "bytes written", "browse_products", "register_customer"]
    table = draw(run_blocks(replace(s.slower(), verdicts=s.slower().verdicts[::-1]), with_details=True)).split("\n\n")[
        2
    ]
    assert [table.index(label) for label in labels] == sorted(table.index(label) for label in labels)


def test_a_run_in_a_store_of_its_own_is_shown_from_there() -> None:
    given = s.settings(options={"store": "my runs.db"})
    text = draw(run_blocks(replace(s.slower(), settings=given), with_details=True))
    assert f"tdelta report {s.RUN_ID} --store 'my runs.db'" in text
    assert f"tdelta export {s.RUN_ID} --format csv --store 'my runs.db'" in text


def test_a_reason_to_stop_that_is_new_here_is_still_named() -> None:
    assert "ended by moonlight" in " ".join(
        draw(run_blocks(replace(s.slower(), stopped_by="moonlight"), with_details=True)).split()
    )


@pytest.mark.parametrize("result", [s.sweep, s.slower, s.invalid, s.stalling])
def test_a_narrow_terminal_gets_lists_in_place_of_tables(result: Callable[[], RunResult]) -> None:
    text, wide = draw(run_blocks(result(), with_details=True), 40), draw(run_blocks(result(), with_details=True), 200)
    figures = re.compile(r"[+−-][\d.]+%")
    assert sorted(figures.findall(text)) == sorted(figures.findall(wide)), "nothing is left out"


def test_below_forty_columns_text_is_laid_out_for_forty() -> None:
    assert draw(run_blocks(s.sweep()), 10) == draw(run_blocks(s.sweep()), 40)


def test_facts_count_failed_and_retried_transactions_by_kind() -> None:
    found = list(facts(s.changed(s.slower(), errors={"deadlock": 3}, retries={"offline": 1})))
    assert {"failed: 3 transactions (deadlock)", "retried: 1 transaction (offline)"} <= set(found)
