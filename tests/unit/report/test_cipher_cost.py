import json
from dataclasses import replace

import pytest

from support.cipher_cost_samples import whole
from tdelta.measure.cipher_cost import CipherCost
from tdelta.report.cipher_cost import cipher_cost_blocks, cipher_cost_document
from tdelta.report.document import to_json
from tdelta.report.drawing import draw


def test_a_document_has_every_cell_and_nothing_that_strict_json_lacks() -> None:
    cost = whole()
    odd = replace(cost, cells=(replace(cost.cells[0], gigabytes_per_second=float("inf")), *cost.cells[1:]))
    values = json.loads(to_json(cipher_cost_document(odd)), parse_constant=pytest.fail)
    assert values["schema"] == "tdelta.cipher-cost/1"
    assert len(values["cells"]) == len(cost.cells) == 200
    assert values["cells"][0]["gigabytes_per_second"] is None
    assert values["cells"][0]["us_per_page_quartiles"] == list(cost.cells[0].us_per_page_quartiles)


def test_a_clock_that_stood_still_makes_no_figure() -> None:
    cost = whole()
    still = tuple(
        replace(cell, us_per_page=0.0, us_per_page_quartiles=(0.0, 0.0), gigabytes_per_second=float("inf"))
        for cell in cost.cells
    )
    text = draw(cipher_cost_blocks(CipherCost(still)), 100)
    assert "–" in text
    assert "inf" not in text
    assert "nan" not in text
