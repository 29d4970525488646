"""A MAC that is injected, and reads that are, land in their own lines of the cost breakdown, on real files."""

from typing import Any

from support.running import Place

SCAN = (
    *("--workload", "scan", "--size", "5MB", "--no-aa", "--no-bb"),
    *("--trial-time", "0.1s", "--blocks", "4", "--rounds", "2..2", "--max-time", "300s"),
)


def cost_breakdowns(place: Place, *options: str) -> dict[str, dict[str, Any]]:
    document = place.tdelta("run", "--json", *SCAN, *options).document
    return {breakdown["condition"]["cipher"]: breakdown for breakdown in document["cost_breakdown"]}


def lines(breakdown: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {line["kind"]: line for line in breakdown["components"]}


def test_most_of_what_sqlcipher_takes_to_read_is_its_hmac_and_without_it_there_is_no_such_line(place: Place) -> None:
    found = cost_breakdowns(place, "--library", "sqlcipher", "--vary", "cipher=aes-256,aes-256-no-hmac")
    whole, bare = lines(found["aes-256"]), lines(found["aes-256-no-hmac"])
    assert list(whole) == ["cipher", "integrity", "io", "residual"]
    assert list(bare) == ["cipher", "io", "residual"]
    assert whole["integrity"]["amount"]["us"] > 2 * whole["cipher"]["amount"]["us"]
    assert whole["integrity"]["amount"]["hdi95"][1] > 0.5 * found["aes-256"]["cpu"]["us"]
    assert whole["integrity"]["source"] == "HMAC-SHA512"
    # Both price the same cipher, on a machine that computes at two speeds and more.
    assert 1 / 3 < whole["cipher"]["amount"]["us"] / bare["cipher"]["amount"]["us"] < 3
