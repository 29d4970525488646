import signal
from dataclasses import replace

import pytest

from support.fake_twins import cipher_as_asked, equal_rows, markers_where_plain
from support.refused import Part, check_messages, coded, has, refused
from tdelta.errors import TdeltaError
from tdelta.evidence import FileClass, MarkerHit
from tdelta.messages.checks import FINDS, NO_MARKER
from tdelta.records import BlockDone, CheckState, Decision, EvidenceState, FileEvidence, Phase, RunResult
from tdelta.session.context import SEARCHES
from tdelta.store import Store

from .conducting import Sitting, check
from .test_conduct import NEVER_PRECISE, press_ctrl_c

IN_FORCE = "cipher-in-force"


def with_more(*more: MarkerHit):
    def found(settings):
        return markers_where_plain(settings) + (more if settings.cipher != "none" else ())

    return found


def states(result: RunResult) -> dict[tuple[str, str], EvidenceState]:
    return {(one.condition.key, one.file_class): one.state for one in result.of(FileEvidence)}


def searched(sitting: Sitting) -> list[str]:
    return [twin.settings.cipher for twin in sitting.twins.started if twin.searched]


# Its results


def test_a_sound_run_says_of_every_class_what_was_shown(sitting: Sitting) -> None:
    result = sitting.conduct()
    encrypted, plain = "cipher=aes-256,threads=1", "cipher=none,threads=1"
    found = states(result)
    assert {found[plain, name] for name in ("database", "wal")} == {EvidenceState.PLAIN}
    assert {found[encrypted, name] for name in ("database", "wal")} == {EvidenceState.ENCRYPTED}
    assert {found[encrypted, name] for name in ("temp", "other")} == {EvidenceState.NOT_TESTED}
    assert (check(result, NO_MARKER).ok, check(result, FINDS).ok) == (True, True)
    conditions = list(dict.fromkeys(one.condition for one in result.of(FileEvidence)))
    assert conditions == list(result.settings.conditions)


def test_a_leak_makes_every_verdict_invalid_and_names_the_file(sitting: Sitting) -> None:
    result = sitting.scripted(found=with_more(MarkerHit("etilqs_1 (unlinked)", FileClass.TEMP, 9_000, 7))).conduct()
    found = check(result, NO_MARKER)
    assert (found.ok, result.decision) == (False, Decision.INVALID)
    check_messages(
        found.details,
        coded(
            "plaintext-found",
            files="etilqs_1 (unlinked)",
            file_class="temp",
            condition="cipher=aes-256,threads=1",
            markers=7,
        ),
    )
    assert {verdict.decision for verdict in result.primary} == {Decision.INVALID}
    assert any("etilqs_1" in reason.text for verdict in result.primary for reason in verdict.reasons)
    assert states(result)["cipher=aes-256,threads=1", "temp"] is EvidenceState.LEAK


def test_a_search_that_finds_nothing_in_a_plain_twin_makes_the_run_invalid(sitting: Sitting) -> None:
    def found(settings):
        return tuple(replace(one, markers_found=0) for one in markers_where_plain(settings))

    result = sitting.scripted(found=found).conduct()
    assert (check(result, FINDS).ok, result.decision) == (False, Decision.INVALID)
    assert states(result)["cipher=none,threads=1", "database"] is EvidenceState.MISSING


def test_a_cipher_that_is_not_the_one_asked_for_makes_the_run_invalid(sitting: Sitting) -> None:
    def weaker(settings):
        return cipher_as_asked(settings) | ({"cipher": "aes128cbc"} if settings.cipher == "aes-256" else {})

    result = sitting.scripted(cipher_facts=weaker).conduct()
    found = check(result, IN_FORCE)
    assert (found.ok, result.decision) == (False, Decision.INVALID)
    check_messages(found.details, coded("cipher-fault", condition="cipher=aes-256,threads=1", fault=Part("aes128cbc")))


def test_the_ciphers_in_force_do_not_count_as_settings_that_differ(sitting: Sitting) -> None:
    result = sitting.conduct()
    assert (check(result, "settings").ok, check(result, IN_FORCE).ok) == (True, True)
    check_messages(check(result, IN_FORCE).details, coded("cipher-seen", seen=Part("aes-256: cipher aes256cbc")))


# When it happens


def test_every_twin_is_searched_once_behind_the_blocks_of_the_first_round(sitting: Sitting) -> None:
    sitting.conduct()
    instances = [twin for twin in sitting.twins.started if not twin.name.startswith("sizing")]
    assert [len(twin.searched) for twin in instances] == [1, 1, 1, 0, 0, 0]
    blocks = [number for number, event in enumerate(sitting.events) if isinstance(event, BlockDone)]
    phases = [
        number for number, event in enumerate(sitting.events) if isinstance(event, Phase) and event.name == "evidence"
    ]
    assert len(phases) == 3
    assert blocks[1] < phases[0] < phases[-1] < blocks[2]


def test_the_trials_meanwhile_are_short_alike_on_all_twins_and_not_stored(sitting: Sitting) -> None:
    result = sitting.conduct()
    operations = result.counts.operations_per_trial
    jobs = [job for twin in sitting.twins.started for job in twin.searched]
    (job,) = set(jobs)
    assert job.operations == round(operations * 0.1 / 0.25)
    assert (job.stream, job.first_op, job.discard, job.injected) == (SEARCHES, 1 + 3 * operations, 0, 0.0)
    assert len(sitting.trials()) == result.counts.trials == 12


def test_an_injected_twin_is_not_slowed_while_its_files_are_searched(sitting: Sitting) -> None:
    sitting.conduct(self_test=True, inject=(0.2,))
    assert {job.injected for twin in sitting.twins.started for job in twin.searched} == {0.0}


def test_the_markers_are_rows_of_every_twin_and_of_the_checksums(sitting: Sitting) -> None:
    def rows(settings, tables, trials):
        changed = settings.cipher != "none"
        return equal_rows(settings, tables, trials) | ({"tdelta_marker": (512, "other")} if changed else {})

    with refused(TdeltaError, "twins-differ", differences=Part("table tdelta_marker: ")):
        sitting.scripted(rows=rows).conduct()


def test_the_time_of_the_search_is_not_counted_into_the_length_of_a_round(sitting: Sitting) -> None:
    def slow_search(_twin, job):
        if job.stream >= SEARCHES:
            sitting.twins.clock.advance(4.0)

    sitting = sitting.scripted(cost_ns=NEVER_PRECISE, before_trial=slow_search)
    result = sitting.conduct(max_rounds=None, max_seconds=40.0)
    round_seconds = (sitting.twins.clock() - 12.0) / result.counts.rounds
    assert result.stopped_by == "time"
    assert sitting.twins.clock() > 40.0 - 3 * round_seconds  # a round of 12 s more would not have fitted any earlier


# Interruptions and resuming


def interrupt_at(number: int):
    """Presses Ctrl-C while the files of the twin of that number are searched."""
    pressed: list[int] = []

    def before_trial(_twin, job):
        if job.stream >= SEARCHES:
            pressed.append(job.stream)
            if len(pressed) == number:
                signal.raise_signal(signal.SIGINT)

    return before_trial


def test_a_run_interrupted_before_its_search_says_that_there_was_none(sitting: Sitting) -> None:
    result = sitting.scripted(before_trial=press_ctrl_c(at_stream=1)).conduct()
    assert (result.interrupted, result.of(FileEvidence)) == (True, ())
    for name in (NO_MARKER, FINDS):
        assert check(result, name).state is CheckState.NOT_SHOWN
        check_messages(check(result, name).details, "not-checked", why="the run ended before the search")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_search_that_is_interrupted_keeps_what_it_found_and_says_what_is_left(sitting: Sitting, number: int) -> None:
    sitting = sitting.scripted(before_trial=interrupt_at(number))
    result = sitting.conduct()
    assert result.interrupted
    assert len({one.condition for one in result.of(FileEvidence)}) == number
    left = f"not checked: {3 - number} of 3 copies"
    assert (left in check(result, FINDS).detail) is (number < 3)


def test_resume_searches_again_what_was_left(sitting: Sitting) -> None:
    sitting.scripted(before_trial=interrupt_at(1)).conduct()
    again = Sitting(sitting.base)
    result = again.resume()
    assert len(searched(again)) == 3
    assert len({one.condition for one in result.of(FileEvidence)}) == 3
    assert has(check(result, NO_MARKER).details, "markers-absent", classes="database, wal", twins=1)


def test_resume_keeps_what_an_earlier_sitting_found_and_does_not_search_again(sitting: Sitting) -> None:
    leak = with_more(MarkerHit("etilqs_1", FileClass.TEMP, 9_000, 7))
    first = sitting.scripted(before_trial=press_ctrl_c(at_stream=3), found=leak).conduct()
    again = Sitting(sitting.base)
    result = again.resume()
    assert searched(again) == []
    assert (result.of(FileEvidence), result.decision) == (first.of(FileEvidence), Decision.INVALID)
    assert not result.interrupted


def test_the_evidence_is_stored_with_the_result_and_in_the_state_of_the_run(sitting: Sitting) -> None:
    result = sitting.conduct()
    with Store.open(sitting.store) as store:
        assert store.result(store.resolve("last")).of(FileEvidence) == result.of(FileEvidence)
    assert sitting.state().evidence.keys() == {condition.key for condition in result.settings.conditions}


def test_twins_that_a_search_has_no_time_for_do_the_same_work(sitting: Sitting) -> None:
    at_work: list[int] = []

    def slow_search(twin, job):
        if job.stream >= SEARCHES:
            at_work.append(job.stream)
            if len(at_work) == 1:
                sitting.twins.clock.advance(40.0 - sitting.twins.clock() - 0.5)

    sitting = sitting.scripted(before_trial=slow_search)
    result = sitting.conduct(max_rounds=1, min_rounds=1, max_seconds=40.0)
    assert len(at_work) == 3
    assert sum(bool(twin.searched) for twin in sitting.twins.started) == 1
    assert "not checked: 2 of 3 copies" in check(result, FINDS).detail
