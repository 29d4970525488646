"""The reconstruction of the published comparison: the study's model gives its result (JAGS: ``tests/live/jags``)."""

import csv
from pathlib import Path

import pytest

from tdelta.inference.observed import AnalysisSettings, analyze_with_pictures
from tdelta.records import Decision, Group, Origin, Summary

TABLE = Path(__file__).parents[4] / "python" / "tdelta" / "studies" / "response-times.csv"


def observations() -> list[Summary]:
    rows = csv.DictReader(line for line in TABLE.read_text().splitlines() if not line.startswith("#"))
    origin = Origin(TABLE.name, "CSV")
    return [
        Summary(Group(r["condition"], r["transaction"]), origin, int(r["n"]), float(r["mean_ms"]), float(r["sd_ms"]))
        for r in rows
    ]


def test_the_difference_has_the_published_interval_and_shows_nothing() -> None:
    result, (picture,) = analyze_with_pictures(observations(), AnalysisSettings("none"))
    (found,) = result.primary
    assert found.difference is not None
    assert found.difference.hdi95 == pytest.approx((-0.69, 1.89), abs=0.05)
    assert result.decision is Decision.UNDECIDED
    assert picture.difference.spread == found.difference


def test_the_table_says_that_it_is_a_reconstruction_and_of_what() -> None:
    head = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
    assert any(line.startswith("# reconstruction:") for line in head)
    assert any(line.startswith("# source: recurrentnull") for line in head)
