import json
import re
from dataclasses import replace

import pytest

from support.floor_samples import FLOORS, not_hidden, whole
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
