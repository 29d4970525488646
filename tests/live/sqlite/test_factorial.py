"""The study order-entry: ciphers with and without the CPU's AES instructions, from one command to an answer."""

from typing import Any

import pytest

from support.running import Place
from tdelta.measure.aes import CryptoKind, cannot_hide

CANNOT = cannot_hide(CryptoKind.OWN)


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
        *("run", "order-entry", "--json", "--size", "3MB", "--trial-time", "0.05s", "--blocks", "2"),
        *("--rounds", "2..2", "--no-aa", "--no-bb"),
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
