from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from support.floor_samples import FLOORS, hmac_alone, not_hidden, whole
from support.json_docs import check_documented
from tdelta.measure.floor import Floor
from tdelta.report.document import to_json
from tdelta.report.floor import floor_document, floor_text


def test_the_documentation_of_a_floor_names_exactly_its_fields() -> None:
    check_documented("tdelta.floor/1", floor_document(whole()), floor_document(not_hidden()))


def test_a_document_has_every_cell_and_nothing_that_strict_json_lacks() -> None:
    floor = whole()
    odd = replace(floor, cells=(replace(floor.cells[0], gigabytes_per_second=float("inf")), *floor.cells[1:]))
    values = json.loads(to_json(floor_document(odd)), parse_constant=pytest.fail)
    assert values["schema"] == "tdelta.floor/1"
    assert len(values["cells"]) == len(floor.cells) == 200
    assert values["cells"][0]["gigabytes_per_second"] is None
    assert values["cells"][0]["us_per_page_quartiles"] == list(floor.cells[0].us_per_page_quartiles)


@pytest.mark.parametrize("name", FLOORS)
@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    assert max(map(len, floor_text(FLOORS[name](), width).splitlines())) <= width


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if re.match(r"  (aes|hmac)-\S+ +[\d–]", line)]


@pytest.mark.parametrize("width", [80, 100])
def test_every_cell_is_in_both_tables(width: int) -> None:
    floor = whole()
    found = rows(floor_text(floor, width))
    assert len(found) >= 2 * 25  # more, where the page sizes do not fit side by side
    figures = sum(len(row) - 1 for row in found)
    assert figures == 2 * len(floor.cells) + len(floor.cells) // 2  # µs and GB/s, and a ratio for each pair


def test_figures_of_a_column_have_their_points_below_each_other() -> None:
    lines = [line for line in floor_text(whole(), 100).splitlines() if line.startswith("  aes-")]
    table = lines[:22]
    points = {tuple(match.start() for match in re.finditer(r"\.", line)) for line in table}
    assert len(points) == 1


def test_the_ratio_is_without_over_with() -> None:
    row = next(row for row in rows(floor_text(hmac_alone(), 100)))
    assert row[1:4] == ["0.310", "0.310", "1.0"]
    assert rows(floor_text(whole(), 100))[0][1:4] == ["0.490", "9.80", "20.0"]


def test_the_first_line_is_the_usual_cell_in_words() -> None:
    assert " ".join(floor_text(whole(), 120).splitlines()[:2]) == (
        "aes-256-cbc, decrypt, a page of 4 KiB: 0.610 µs with the CPU's AES instructions, 12.2 µs without them:"
        " 20.0 times as long."
    )


def test_one_level_alone_has_no_ratio_and_its_caution_is_shown() -> None:
    text = floor_text(not_hidden(), 100)
    assert "ratio" not in text
    assert "without them:" not in text
    assert "- the AES instructions could not be hidden from OpenSSL" in text


def test_the_widest_spread_is_named() -> None:
    found = re.search(r"spans (\S+) % of its median\s+\(at most (\S+) %: (aes-\S+),", floor_text(whole(), 100))
    assert found is not None
    assert found.groups() == ("2.0", "5.0", "aes-128-gcm")


def test_a_clock_that_stood_still_makes_no_figure() -> None:
    floor = whole()
    still = tuple(
        replace(cell, us_per_page=0.0, us_per_page_quartiles=(0.0, 0.0), gigabytes_per_second=float("inf"))
        for cell in floor.cells
    )
    text = floor_text(Floor(still), 100)
    assert "–" in text
    assert "inf" not in text
    assert "nan" not in text
