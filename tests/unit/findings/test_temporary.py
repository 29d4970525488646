"""Temporary data is counted by the engine where it counts, else by the bytes that were written."""

import pytest

from support.finished import found
from tdelta.evidence import FileClass
from tdelta.findings.temporary import CLASSES, KIND, WRITTEN, shown_by, spilled
from tdelta.records import (
    Condition,
    EvidenceState,
    FileEvidence,
    Measurement,
    Metric,
    Role,
    RunSettings,
    Trial,
    Usage,
)

PLAIN = Condition((("cipher", "none"), ("threads", 1)), Role.BASELINE)
AES = Condition((("cipher", "aes-256"), ("threads", 1)), Role.TREATMENT)
SETTINGS = RunSettings("r", 1, "spill", "mariadb", "spill", (PLAIN, AES), 0.02, None, Metric.RESPONSE_TIME)


def measured(written: int = 0, operations: int = 4, **counters: int) -> Measurement:
    usage = Usage(syscall_written_bytes=written)
    return Measurement(operations, 1, {}, {}, total_operations=operations, usage=usage, engine_counters=counters)


def trial(of: Condition, measurement: Measurement) -> Trial:
    return Trial(0, 0, 0, of, of.key, 0.0, measurement)


@pytest.mark.parametrize(
    ("measurement", "writes", "expected"),
    [
        (measured(temporary_tables=4), False, True),
        (measured(temporary_tables=0, temporary_files=9), False, True),
        (measured(temporary_tables=3, temporary_files=1), False, False),  # one operation at least kept all in memory
        (measured(10**9, temporary_tables=0), False, False),
        (measured(temporary_tables=4), True, True),
        (measured(4 * 65_536), False, True),
        (measured(4 * 65_536 - 1), False, False),
        (measured(10**9), True, None),
    ],
)
def test_a_trial_has_spilled_if_each_operation_can_have(
    measurement: Measurement, writes: bool, expected: bool | None
) -> None:
    assert spilled(measurement, writes=writes) is expected


def test_counts_are_of_one_operation_and_files_those_of_the_same_twin() -> None:
    evidence = [
        FileEvidence(AES, of.value, state, ("f",), (), 10, 3)
        for of, state in (
            (FileClass.TABLES, EvidenceState.ENCRYPTED),
            (FileClass.TEMP, EvidenceState.UNCOVERED),
            (FileClass.DISK_TABLES, EvidenceState.ENCRYPTED),
        )
    ]
    trials = [
        trial(PLAIN, measured(8, temporary_tables=8)),
        trial(AES, measured(4, temporary_tables=1)),
        trial(AES, measured(40, temporary_tables=11)),
    ]
    plain, aes = found(
        KIND, trials, SETTINGS, of_transactions=trials, known=evidence, is_spilling=True, is_writing=False
    )
    assert (plain.condition, plain.files, plain.trials, plain.spilled) == (PLAIN, {}, 1, 1)
    assert (aes.trials, aes.spilled, aes.written_bytes_per_operation) == (2, 1, 5.5)
    assert aes.counters == {"temporary_tables": 1.5}
    assert aes.files == {
        FileClass.TEMP.value: EvidenceState.UNCOVERED,
        FileClass.DISK_TABLES.value: EvidenceState.ENCRYPTED,
    }


def test_what_shows_it_is_named() -> None:
    assert shown_by([trial(AES, measured(temporary_files=1, sort_merge_passes=0))]).split() == ["temporary", "files"]
    assert shown_by([trial(AES, measured(10**6))]) == WRITTEN


def test_the_classes_of_temporary_files_are_those_of_the_evidence() -> None:
    assert {of for of in FileClass if "temp" in of.value} == set(CLASSES)
