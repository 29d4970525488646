import json
from dataclasses import replace

import pytest

from support import analysis_samples as s
from support.json_docs import check_documented
from tdelta.report.analysis.details import analysis_document
from tdelta.report.document import to_json


def test_the_documentation_names_exactly_the_fields() -> None:
    check_documented("tdelta.analysis/1", *(analysis_document(sample(), 0) for sample in s.SAMPLES.values()))


def test_what_has_no_posterior_is_null_and_the_quotient_is_there() -> None:
    (first, *_) = json.loads(to_json(analysis_document(s.sweep(), 3)))["comparisons"]
    assert first["ratio"] is None
    assert first["difference"] is None
    assert first["baseline"]["mean"] is None
    assert f"{first['quotient']:.2f}" == first["published"] == "1.09"
    assert first["levels"] == {"buffer_pool": "5 GB", "threads": 1}


def test_priors_stand_under_their_names() -> None:
    (only,) = json.loads(to_json(analysis_document(s.one_run(), 0)))["comparisons"]
    assert set(only["priors"]) == {"no speed-up", "runs differ by 3%", "normal:0,0.01"}
    assert only["priors"]["normal:0,0.01"]["median"] == pytest.approx(1.274)


def test_numbers_that_do_not_exist_are_null() -> None:
    odd = replace(s.one_run().comparisons[0], quotient=float("inf"))
    values = json.loads(to_json(analysis_document(s.result(odd), 0)), parse_constant=pytest.fail)
    assert values["comparisons"][0]["quotient"] is None
