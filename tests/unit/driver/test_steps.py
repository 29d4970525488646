"""Loads and rebuilds as measurements."""

from __future__ import annotations

import dataclasses

from tdelta.driver.jobs import LOAD, REBUILD
from tdelta.driver.steps import client_step, embedded_step
from tdelta.records import Usage

USED = {**dataclasses.asdict(Usage()), "cpu_user_seconds": 0.5}


def test_a_step_is_one_operation_of_its_own_name() -> None:
    answer = {"elapsed_ns": 7, "usage": USED, "files": {"database": 4096}}
    for measured in (embedded_step(LOAD, answer, 10), client_step(LOAD, answer), client_step(REBUILD, answer)):
        assert (measured.operations, measured.total_operations, measured.counted_operations) == (1, 1, 1)
        assert measured.elapsed_ns == 7
    assert client_step(REBUILD, answer).transactions.keys() == {REBUILD}
    assert embedded_step(LOAD, answer, 10).files_bytes == {"database": 4096}
