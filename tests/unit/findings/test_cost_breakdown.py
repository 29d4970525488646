from dataclasses import replace

from support import samples as s
from tdelta.document.blocks import Cell, Table
from tdelta.findings.cost_breakdown import KIND, NOTE, note, share_text
from tdelta.messages import Reason
from tdelta.records import CostBreakdown

SAMPLED = Cell("of it, sampled", brief="    sampled")


def absent(*unattributed: tuple[str, ...]) -> str:
    result = s.with_cost_breakdown()
    breakdowns = [
        replace(one, unattributed=tuple(map(Reason.verbatim, texts)))
        for one, texts in zip(result.of(CostBreakdown)[:2], unattributed, strict=True)
    ]
    text = note(breakdowns, result)
    assert text.startswith(NOTE)
    return text.removeprefix(NOTE).strip()


def test_what_is_so_of_all_is_said_once() -> None:
    assert absent(("log: whole pages",), ("log: whole pages",)) == "No component for log: whole pages."


def test_why_calls_were_not_timed_is_no_line_that_is_missing() -> None:
    said = absent(("timed calls: the cipher is within",), ("timed calls: the cipher is within",))
    assert said == "Calls of the cipher were not timed: the cipher is within."


def test_what_is_so_of_one_is_said_of_it() -> None:
    switches = ("task switches: 5: not 6",), ("task switches: 7", "log: whole pages")
    assert absent(*switches) == (
        "No component for task switches (sqlcipher): 5: not 6. No component for task switches (AES-256): 7."
        " No component for log (AES-256): whole pages."
    )


def test_a_line_of_pages_that_were_not_met_says_once_on_the_page_what_its_price_is_of() -> None:
    result = s.with_cost_breakdown()
    priced, unpriced, *_ = result.of(CostBreakdown)
    cipher_line = priced.components[0]
    unmet = replace(cipher_line, items=tuple(replace(item, count=0.0) for item in cipher_line.items))
    one = replace(priced, components=(unmet, *priced.components[1:]))
    shown = KIND.shown(s.changed(result, cost_breakdown=(one, unpriced)))
    table = next(block for block in shown if isinstance(block, Table))
    told = next(row for row in table.rows if row[0] == Cell("cipher", brief="  cipher"))
    assert told[-1] == Cell(cipher_line.source, brief=cipher_line.source)


def test_where_every_cost_has_its_line_nothing_is_said() -> None:
    assert absent((), ()) == ""


def test_functions_of_a_rest_that_is_much_stand_below_it_and_where_there_are_none_that_is_said() -> None:
    result = s.with_cost_breakdown()
    *_, named, blind = result.of(CostBreakdown)
    (table,) = (block for block in KIND.shown(s.changed(result, cost_breakdown=(named,))) if isinstance(block, Table))
    assert [str(row[-1]).partition(":")[0] for row in table.rows if row[0] == SAMPLED] == [
        "my_aes_crypt in mariadbd",
        "[not named] in mariadbd",
        "__memmove_avx in libc.so.6",
    ]
    assert "is unknown: there is no perf" in note((blind,), result)
    assert "residual of" not in note((replace(named, functions=()),), result)


def test_a_share_is_told_with_its_interval_and_without_one_where_it_has_none() -> None:
    line = s.with_cost_breakdown().of(CostBreakdown)[0].components[0]
    assert share_text(line) == "31% (24 to 39)"
    assert share_text(replace(line, share_hdi95=None)) == "31%"
    assert share_text(replace(line, share=None)) == "–"
