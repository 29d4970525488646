from dataclasses import replace

import pytest

from support.finished import found as findings
from tdelta.design import lay_out
from tdelta.findings.versions import KIND
from tdelta.records import Decision, Estimate, Metric, RunSettings, Verdict
from tdelta.records.history import Change


def estimate(ratio: float, half: float) -> Estimate:
    return Estimate(ratio, (ratio - half, ratio + half), (ratio - 1.4 * half, ratio + 1.4 * half), 0.0, 0.0, 1.0)


def found(
    ratios: dict[tuple[str, int], Estimate], decision: Decision = Decision.SLOWER
) -> dict[tuple[object, object], Change]:
    conditions = lay_out({"cipher": ("aes-256",), "threads": (1, 4), "server": ("10.11", "11.4", "11.8")})
    settings = RunSettings("r", 1, "", "mariadb", "w", conditions, 0.02, None, Metric.RESPONSE_TIME, {})
    plain = {c.stratum: c for c in conditions if c.role.value == "baseline"}
    verdicts = [
        Verdict(
            True, c, plain[c.stratum], Metric.RESPONSE_TIME, "all", "us", 1.0, 1.0,
            ratios[str(c.level("server")), int(c.level("threads"))], decision, (),
        )
        for c in conditions
        if c.role.value == "treatment"
    ]  # fmt: skip
    told = findings(KIND, (), settings, verdicts=[*verdicts, replace(verdicts[0], primary=False)])
    assert {one.versus.level("server") for one in told} == {"10.11"}
    assert all(one.versus.level("threads") == one.condition.level("threads") for one in told)
    return {(one.condition.level("server"), one.condition.level("threads")): one.difference.change for one in told}


ALIKE = {(version, threads): estimate(1.05, 0.004) for version in ("10.11", "11.4", "11.8") for threads in (1, 4)}


def test_each_later_version_is_set_beside_the_first_with_all_else_alike() -> None:
    assert found(ALIKE) == {(v, n): Change.UNCHANGED for v in ("11.4", "11.8") for n in (1, 4)}


def test_a_version_in_which_encryption_costs_more_or_less_is_seen() -> None:
    told = found({**ALIKE, ("11.8", 4): estimate(1.15, 0.01), ("11.4", 1): estimate(1.0, 0.01)})
    assert told["11.8", 4] is Change.LARGER
    assert told["11.4", 1] is Change.SMALLER
    assert told["11.8", 1] is Change.UNCHANGED


@pytest.mark.parametrize(
    ("decision", "change"), [(Decision.INVALID, Change.INVALID), (Decision.SLOWER, Change.UNDECIDED)]
)
def test_wide_intervals_and_failed_checks_give_no_answer(decision: Decision, change: Change) -> None:
    assert set(found(dict.fromkeys(ALIKE, estimate(1.05, 0.2)), decision).values()) == {change}
