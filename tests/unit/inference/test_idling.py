"""What idle servers used, by condition: shares of a CPU between their quartiles over the rounds."""

from __future__ import annotations

import pytest

from tdelta.inference.idling import IdleUse, idle_measures
from tdelta.records import Condition, Role

PLAIN = Condition((("cipher", "none"), ("threads", 1)), Role.BASELINE)
AES = Condition((("cipher", "aes-256"), ("threads", 1)), Role.TREATMENT)


def test_cpu_and_writes_are_per_second_and_described_for_those_that_were_looked_at() -> None:
    looks = [IdleUse(5.0, cpu, written) for cpu, written in ((0.05, 0), (0.1, 500), (0.25, 1000))]
    (one,) = idle_measures({AES.key: looks, "another": looks}, (PLAIN, AES))
    assert (one.condition, one.rounds, one.seconds) == (AES, 3, 5.0)
    assert (one.cpu_share.low, one.cpu_share.median, one.cpu_share.high) == pytest.approx((0.015, 0.02, 0.035))
    assert one.written_bytes_per_second.median == 100.0


def test_a_run_without_looks_has_none() -> None:
    assert idle_measures({}, (PLAIN, AES)) == ()
