"""The study order-entry: ciphers with and without the CPU's AES instructions, from one command to an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.codes import cautions, details
from support.refused import Part, check_messages
from support.running import ONCE, Place
from tdelta.measure.aes import CryptoKind, cannot_hide

CANNOT = cannot_hide(CryptoKind.OWN)
LEVELS = ("--vary", "cipher=aes-256", "--vary", "aes_instructions=on,off")


def check(document: Any, name: str) -> Any:
    (found,) = [entry for entry in document["validity"] if entry["code"] == name]
    return found


def contrast(document: Any, metric: str, **levels: str) -> Any:
    """The contrast of one metric whose condition has these levels, over the same cipher with the instructions."""
    return next(
        c
        for c in document["contrasts"]
        if c["metric"] == metric and c["factor"] == "aes_instructions" and levels.items() <= c["condition"].items()
    )


@pytest.mark.alone
@pytest.mark.skipif(CANNOT is not None, reason=f"the level off cannot be had: {CANNOT}")
def test_the_study_compares_five_conditions_with_one_baseline(place: Place) -> None:
    ran = place.tdelta(
        *("run", "order-entry", "--json", "--size", "3MB", "--trial-seconds", "0.05", "--blocks", "2"),
        *("--rounds", "2..2", "--no-aa-twin", "--no-bb-twin"),
    )
    assert ran.code in (0, 3), ran.err
    document = ran.document
    primary = [v["condition"] for v in document["verdicts"] if v["primary"]]
    assert [(c["cipher"], c["aes_instructions"], c["threads"]) for c in primary] == [
        ("aes-128", "on", 4),
        ("aes-256", "on", 4),
        ("none", "off", 4),
        ("aes-128", "off", 4),
        ("aes-256", "off", 4),
    ]
    assert {v["baseline"]["aes_instructions"] for v in document["verdicts"]} == {"on"}
    assert check(document, "aes-instructions")["state"] == "ok"
    # Read by CPU time: on small data and short trials the wall clock says little. Four blocks make no sharp interval.
    assert contrast(document, "cpu_per_operation", cipher="aes-256")["ratio"]["median"] > 1.0
    changed = " ".join(document["overridden"])
    for word in ("size", "trial", "blocks", "rounds"):
        assert word in changed


@pytest.mark.skipif(CANNOT is not None, reason=f"the level off cannot be had: {CANNOT}")
def test_a_worker_without_the_instructions_shows_it(place: Place) -> None:
    document = place.answer(*LEVELS, "--workload", "point-select", "--no-aa-twin", *ONCE)
    assert check(document, "aes-instructions")["state"] == "ok"
    check_messages(details(document, "aes-instructions"), "instructions-shown", on=Part("µs"), off=Part("µs"))


def test_where_the_instructions_cannot_be_hidden_the_level_is_left_out_and_told(place: Place) -> None:
    """A library whose crypto nobody can reach: simulated by an installation without the preload."""
    program = "; ".join(
        (
            "import pathlib, tdelta.measure.aes as aes",
            "aes.preload_path = lambda: pathlib.Path('/nowhere/libno_aes.so')",
            "from tdelta.cli.main import main",
            "main()",
        )
    )
    process = place.start("run", "--json", "--dry-run", *LEVELS, program=program)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    check_messages(
        cautions(json.loads(out), "instructions-left-out"), "instructions-left-out", factor="aes_instructions"
    )


def test_a_share_of_the_baselines_capacity_becomes_a_rate(place: Place) -> None:
    document = place.answer(
        "--vary", "at=20%,40%", "--workload", "point-select", "--no-aa-twin", "--trial-seconds", "0.2", *ONCE
    )
    rates, capacities = document["arrival_rates"], document["capacities"]
    assert [round(rates[key] / capacities[key], 6) for key in rates] == [0.2, 0.4]
    assert len(set(capacities.values())) == 1
    assert {v["condition"]["at"] for v in document["verdicts"] if v["primary"]} == {0.2, 0.4}
