import pytest

from support.refused import Part, check_messages, coded, has
from tdelta.evidence import FileClass, MarkerHit, Searched, classify, validity
from tdelta.messages import Detail
from tdelta.records import CheckState, Condition, EvidenceState, FileEvidence, Role

from .finds import AES, PLAIN, TEMP, condition, searched

ENCRYPTED, LEAK, MISSING = EvidenceState.ENCRYPTED, EvidenceState.LEAK, EvidenceState.MISSING
NOT_TESTED, FOUND = EvidenceState.NOT_TESTED, EvidenceState.PLAIN


def states(evidence: tuple[FileEvidence, ...], cipher: str, stratum: int = 0) -> dict[str, EvidenceState]:
    return {
        one.file_class: one.state
        for one in evidence
        if one.condition.level("cipher") == cipher and one.condition.stratum == stratum
    }


def test_a_class_is_encrypted_where_the_plain_twin_shows_markers_and_this_one_does_not() -> None:
    evidence = classify([searched(PLAIN, database=32, wal=30), searched(AES, database=0, wal=0)])
    assert states(evidence, "none") == {"database": FOUND, "wal": FOUND, "temp": NOT_TESTED}
    assert states(evidence, "aes-256") == {"database": ENCRYPTED, "wal": ENCRYPTED, "temp": NOT_TESTED}


def test_a_class_that_no_plain_twin_shows_markers_in_is_not_tested() -> None:
    evidence = classify([searched(PLAIN, database=32, journal=0), searched(AES, database=0, journal=0, other=0)])
    assert states(evidence, "aes-256")["journal"] is NOT_TESTED
    assert states(evidence, "none")["journal"] is NOT_TESTED
    assert states(evidence, "aes-256")["other"] is NOT_TESTED


def test_markers_in_a_file_of_an_encrypted_twin_leak_with_or_without_a_control() -> None:
    evidence = classify([searched(PLAIN, database=32), searched(AES, database=0, temp=5, other=1)])
    assert states(evidence, "aes-256") == {"database": ENCRYPTED, "temp": LEAK, "other": LEAK}
    (temp,) = [one for one in evidence if one.condition == AES and one.file_class == "temp"]
    assert (temp.leaking, temp.files, temp.markers_found, temp.scanned_bytes) == (("x.temp",), ("x.temp",), 5, 1000)


def test_a_plain_twin_whose_database_shows_nothing_is_missing_and_nothing_else_is() -> None:
    evidence = classify([searched(PLAIN, database=0, wal=0), searched(AES, database=0, wal=0)])
    assert states(evidence, "none") == {"database": MISSING, "wal": NOT_TESTED, "temp": NOT_TESTED}
    assert set(states(evidence, "aes-256").values()) == {NOT_TESTED}


def test_each_stratum_has_its_own_control() -> None:
    plain, aes = condition("none", 1), condition("aes-256", 1)
    evidence = classify([
        searched(PLAIN, database=32, wal=32), searched(AES, database=0, wal=0),
        searched(plain, database=32, wal=0), searched(aes, database=0, wal=0),
    ])  # fmt: skip
    assert states(evidence, "aes-256", 0)["wal"] is ENCRYPTED
    assert states(evidence, "aes-256", 1)["wal"] is NOT_TESTED


def test_a_stratum_without_a_plain_twin_is_held_against_those_of_the_others() -> None:
    evidence = classify([searched(PLAIN, database=32), searched(condition("aes-256", 1), database=0)])
    assert states(evidence, "aes-256", 1)["database"] is ENCRYPTED


def test_a_file_of_which_nothing_was_read_shows_nothing() -> None:
    evidence = classify([searched(PLAIN, database=32, temp=9), searched(AES, database=0)])
    assert states(evidence, "aes-256")["temp"] is NOT_TESTED


def test_any_plain_twin_is_a_control_the_injected_one_too() -> None:
    slowed = condition("none", role=Role.INJECTED)
    evidence = classify([searched(slowed, database=32), searched(AES, database=0)])
    assert states(evidence, "aes-256")["database"] is ENCRYPTED


def test_a_sound_run_passes_both_checks_and_says_what_was_read() -> None:
    evidence = classify([searched(PLAIN, database=32, wal=32), searched(AES, database=0, wal=0)])
    nothing_leaks, finds = validity(evidence)
    assert (nothing_leaks.ok, finds.ok) == (True, True)
    check_messages(
        nothing_leaks.details,
        coded("markers-absent", classes="database, wal", twins=1, read=2000),
        coded("not-checked", why=Part("temp")),
    )
    check_messages(finds.details, coded("markers-present", classes="database, wal", twins=1))


def test_a_leak_fails_its_check_and_names_file_class_and_twin() -> None:
    evidence = classify([searched(PLAIN, database=32), searched(AES, database=1, temp=5)])
    nothing_leaks, finds = validity(evidence)
    assert (nothing_leaks.ok, finds.ok) == (False, True)
    check_messages(
        nothing_leaks.details,
        coded(
            "plaintext-found",
            files="x.database",
            file_class="database",
            condition="cipher=aes-256,threads=1",
            markers=1,
        ),
        coded("plaintext-found", files="x.temp", file_class="temp", condition="cipher=aes-256,threads=1", markers=5),
    )


def test_of_many_leaking_files_some_are_named_and_the_rest_counted() -> None:
    many = Searched(AES, tuple(MarkerHit(f"etilqs_{number}", TEMP, 10, 1) for number in range(9)))
    (nothing_leaks, _) = validity(classify([searched(PLAIN, database=32), many]))
    assert "etilqs_0, etilqs_1, etilqs_2 and 6 more (temp)" in nothing_leaks.detail


def test_a_search_that_does_not_find_what_is_there_fails_its_check() -> None:
    evidence = classify([searched(PLAIN, database=0), searched(AES, database=0)])
    nothing_leaks, finds = validity(evidence)
    assert (nothing_leaks.state, finds.state) == (CheckState.NOT_SHOWN, CheckState.FAILED)
    assert nothing_leaks.detail.startswith("not checked")
    assert has(finds.details, "home-without-marker", home=Part("database"), condition="cipher=none,threads=1")


@pytest.mark.parametrize("evidence", [(), classify([searched(PLAIN, database=32)])])
def test_what_was_not_searched_is_said(evidence: tuple[FileEvidence, ...]) -> None:
    told = [
        check.detail for check in validity(evidence, (Detail.of("not-checked", why="the run ended before the search"),))
    ]
    assert all("before the search" in detail for detail in told)


def test_a_run_without_an_encrypted_twin_has_nothing_to_leak() -> None:
    nothing_leaks, finds = validity(classify([searched(PLAIN, database=32)]))
    assert nothing_leaks.state is CheckState.NOT_SHOWN
    assert has(nothing_leaks.details, "not-checked", why="no encrypted copy, or no marker in unencrypted ones")
    assert finds.ok


def test_storage_hides_below_what_it_shows_mounted() -> None:
    plain, disk = (
        Condition((("cipher", "none"), ("storage", level)), role)
        for level, role in (("plain", Role.BASELINE), ("fscrypt", Role.TREATMENT))
    )

    def found(database: int, storage: int) -> tuple[MarkerHit, ...]:
        of = FileClass.DATABASE, FileClass.STORAGE
        return tuple(MarkerHit(one.value, one, 1000, count) for one, count in zip(of, (database, storage), strict=True))

    covered = frozenset({FileClass.STORAGE})
    evidence = classify([Searched(plain, found(32, 64)), Searched(disk, found(32, 0), covered)])
    assert {(e.condition, e.file_class): e.state for e in evidence if e.file_class != "temp"} == {
        (plain, "database"): FOUND,
        (plain, "storage"): FOUND,
        (disk, "database"): EvidenceState.MOUNTED,
        (disk, "storage"): ENCRYPTED,
    }
    no_marker, finds = validity(evidence)
    assert (no_marker.state, finds.state) == (CheckState.OK, CheckState.OK)
    leaking = classify([Searched(plain, found(32, 64)), Searched(disk, found(32, 1), covered)])
    assert validity(leaking)[0].is_invalid
    blind = classify([Searched(plain, found(32, 0)), Searched(disk, found(32, 0), covered)])
    assert validity(blind)[1].is_invalid
