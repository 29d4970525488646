"""Loads as trials, refusals and interruptions of ``tdelta run --engine turso``."""

from __future__ import annotations

import signal

import pytest
from sqlite.running import ONCE, SMALL, Place, end, read_until, workers_left
from sqlite.test_answers import checks

from .conftest import ENGINE

SCAN = (*ENGINE, "--workload", "scan", "--no-aa-twin")


def test_a_bulk_load_can_be_the_trial(place: Place) -> None:
    document = place.answer(*SCAN, "--vary", "work=load", "--size", "1MB", *ONCE)
    assert checks(document)["rows-after"][0] == "ok"
    assert {trial["work"] for trial in place.trials()} == {"load"}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--vary", "cipher=aegis256"), "aegis-256"),
        (("--scope", "data"), "--scope"),
        (("--workload", "connect"), "connect"),
    ],
)
def test_what_turso_cannot_do_is_refused_before_anything_is_made(
    place: Place, options: tuple[str, ...], code: str
) -> None:
    ran = place.run(*ENGINE, *options)
    assert ran.code == 2
    assert code in ran.err
    assert "Traceback" not in ran.err
    assert list(place.twins.glob("twins-*")) == []


def test_an_interrupted_run_leaves_nothing_and_can_be_resumed(place: Place) -> None:
    process = place.start("run", *SMALL, *SCAN, "--trial-seconds", "0.3", "--blocks", "4")
    read_until(process, "round 1")
    ended = end(process, signal.SIGINT)
    assert workers_left(process.pid) == []
    assert list(place.twins.glob("twins-*")) == []
    assert ended.code == 130, ended.err
    resumed = place.tdelta("run", "--resume", "last", "--json")
    assert resumed.document["counts"]["rounds"] >= 2, resumed.err
