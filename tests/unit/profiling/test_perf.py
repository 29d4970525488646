import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.data import text_of
from support.fake_perf import install, report
from support.refused import Coded, Part, check_messages, coded, refused
from tdelta.errors import EnvironmentFault
from tdelta.profiling.perf import Perf, Recording, added, find_perf, parse_report
from tdelta.profiling.sampling import Gone, Samples, may_look_at_cpus, why
from tdelta.records import Sampled

# The output of perf 6.1 on a SQLite twin, tabulators and blanks as they were.
PRINTED = text_of("printed/perf-report.txt")


def test_what_perf_prints_becomes_functions_and_those_without_a_name_are_one_for_each_file() -> None:
    found = parse_report(PRINTED.splitlines())
    assert found.has_kernel
    assert found.functions == (
        Sampled("[kernel.kallsyms]", "_copy_to_iter", 8, 8_008_008, is_kernel=True),
        Sampled("_native.abi3.so", "", 55, 55_055_055),
        Sampled("__init__.cpython-311-x86_64-linux-gnu.so", "aesEncryptCBC", 401, 401_401_401),
        Sampled("_duckdb.so", "duckdb::BitpackingScanPartial<int, int>", 3, 3_003_003),
        Sampled("[unknown]", "", 1, 1_001_001),
    )


def test_a_report_without_samples_has_no_functions() -> None:
    assert parse_report(["# Samples: 0  of event 'cpu-clock'\n"]).functions == ()


def test_a_recording_of_programs_alone_says_so() -> None:
    assert not parse_report(report((1, "a", "[.] f"), event="cpu-clock:u").splitlines()).has_kernel


def test_no_folder_of_anybodys_is_kept() -> None:
    printed = report((1, "/home/me/lib/libcrypto.so.3 (deleted)", "[.] EVP_CipherUpdate"))
    (one,) = parse_report(printed.splitlines()).functions
    assert (one.dso, one.symbol) == ("libcrypto.so.3", "EVP_CipherUpdate")


def test_recordings_are_added_function_by_function() -> None:
    once = parse_report(PRINTED.splitlines())
    twice = added([once, once, Recording((Sampled("x", "y", 1, 7),), has_kernel=False)])
    assert sum(one.samples for one in twice.functions) == 2 * sum(one.samples for one in once.functions) + 1
    assert not twice.has_kernel


def test_samples_are_of_what_ran_between_begin_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {"": report((5, "postgres", "[.] ExecScan"))})
    perf, file = find_perf(), tmp_path / "perf.data"
    with perf.sampling(lambda: (os.getpid(), 7), file) as sampling:
        sampling.begin()
        samples = sampling.end()
    assert file.read_text() == f"{os.getpid()},7"
    assert samples == Samples(file)
    assert perf.read(samples).functions == (Sampled("postgres", "ExecScan", 5, 5_005_005),)


def test_of_whole_cpus_the_processes_and_what_they_start_are_read_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = [report((samples, "libc.so.6", "[.] memcpy"), thread=thread) for samples, thread in ((5, 11), (3, 12))]
    other = report((70, "libc.so.6", "[.] memcpy"), (1, "libc.so.6", "[.] free"), thread=7)
    log = install(tmp_path, monkeypatch, {"all": "".join((*printed, other))}, looks_at_cpus=True)
    perf, file = find_perf(), tmp_path / "perf.data"
    with perf.sampling(lambda: (11,), file) as sampling:
        sampling.begin()
        samples = sampling.end()
    assert (log.read_text(), samples) == ("all\n", Samples(file, frozenset({11})))
    recording = perf.read(samples)
    assert recording.functions == (Sampled("libc.so.6", "memcpy", 8, 8_008_008),)


def test_of_whole_cpus_processes_that_come_meanwhile_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, {}, looks_at_cpus=True)
    there = iter([(5,), (6,), ()])
    with find_perf().sampling(lambda: next(there), tmp_path / "perf.data") as sampling:
        sampling.begin()
        assert sampling.end().processes == {5, 6}


def test_a_perf_that_forgets_what_starts_while_it_waits_follows_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, {}, looks_at_cpus=True)
    assert find_perf().looks_at_cpus
    program = tmp_path / "perf"
    program.write_text(program.read_text().replace("perf version 6.1", "perf version 5.10.216"))
    assert not find_perf().looks_at_cpus


@pytest.mark.parametrize(
    ("paranoid", "held", "may"),
    [
        ("0\n", "0000000000000000", True),
        ("-1\n", "0000000000000000", True),
        ("1\n", "0000000000000000", False),
        ("4\n", "00000000a80425fb", False),  # what a container's root has
        ("4\n", "0000004000000000", True),
        ("4\n", "0000000000200000", True),
        ("", "", False),
    ],
)
def test_rights_tell_whether_whole_cpus_may_be_sampled(
    paranoid: str, held: str, may: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    level, status = tmp_path / "paranoid", tmp_path / "status"
    level.write_text(paranoid)
    status.write_text(f"Name:\ttdelta\nCapPrm:\t000001ffffffffff\nCapEff:\t{held}\n")
    monkeypatch.setattr("tdelta.profiling.sampling._PARANOID", level)
    monkeypatch.setattr("tdelta.profiling.sampling._STATUS", status)
    assert may_look_at_cpus() is may


CHILDREN = """
import os, sys, time
print("ready", flush=True)
sys.stdin.readline()
for _ in range(10):
    child = os.fork()
    if not child:
        while time.process_time() < 0.03:
            pass
        os._exit(0)
    os.waitpid(child, 0)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("looks_at_cpus", [False, True])
def test_children_that_come_and_go_are_sampled_and_another_process_in_the_same_functions_is_not(
    looks_at_cpus: bool, tmp_path: Path
) -> None:
    if shutil.which("perf") is None:
        if os.environ.get("TDELTA_REQUIRE_ENGINES"):
            pytest.fail("there is no perf here: apt-get install linux-perf")
        pytest.skip("there is no perf here")
    perf = dataclasses.replace(find_perf(), looks_at_cpus=looks_at_cpus)
    if looks_at_cpus and not find_perf().looks_at_cpus:
        pytest.skip("perf may not look at whole CPUs here")
    cpu = min(os.sched_getaffinity(0))
    busy = "import time\nwhile True: time.process_time()"
    with (
        subprocess.Popen([sys.executable, "-c", busy]) as other,
        subprocess.Popen([sys.executable, "-c", CHILDREN], stdin=-1, stdout=-1, text=True) as process,
    ):
        try:
            for pid in (other.pid, process.pid):
                os.sched_setaffinity(pid, {cpu})
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            with perf.sampling(lambda: (process.pid,), tmp_path / "perf.data") as sampling:
                sampling.begin()
                process.stdin.write("go\n")
                process.stdin.flush()
                process.stdout.readline()
                samples = sampling.end()
        except EnvironmentFault as fault:
            if "perf may not sample here" in str(fault):  # the machine's owner decides that
                pytest.skip(str(fault))
            raise
        finally:
            process.kill()
            other.kill()
    recording = perf.read(samples)
    if recording.is_lost:
        pytest.skip("perf lost records: this machine has too much else to do")
    sampled_seconds = sum(one.cpu_ns for one in recording.functions) / 1e9
    assert sampled_seconds == pytest.approx(0.32, rel=0.25)  # the other's would come to as much again


def test_processes_of_another_user_are_not_looked_at_where_their_code_cannot_be_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, {}, looks_at_cpus=True)

    def forbidden(_: Path) -> bytes:
        raise PermissionError

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    with refused(EnvironmentFault, "perf-failed"):
        find_perf().sampling(lambda: (os.getpid(),), tmp_path / "perf.data")


def test_a_perf_that_missed_a_signal_is_told_again_and_one_that_misses_all_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tdelta.profiling.sampling._AGAIN_SECONDS", 0.2)
    install(tmp_path, monkeypatch, {}, misses=2)
    with find_perf().sampling(lambda: (1,), tmp_path / "perf.data") as sampling:
        sampling.begin()
        sampling.end()
    install(tmp_path, monkeypatch, {}, misses=1000)
    with find_perf().sampling(lambda: (1,), tmp_path / "perf.data") as sampling:
        sampling.begin()
        monkeypatch.setattr("tdelta.profiling.sampling._END_SECONDS", 1.0)
        with refused(EnvironmentFault, "perf-failed", fault=Part("1")):
            sampling.end()


def test_without_perf_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with refused(EnvironmentFault, "perf-unavailable"):
        find_perf()


def test_a_perf_of_another_kernel_is_told_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "perf"
    program.write_text("#!/bin/sh\necho 'WARNING: perf not found for kernel 6.18' >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with refused(EnvironmentFault, "perf-unavailable", fault=Part("perf not found for kernel 6.18")):
        find_perf()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            "Error:\nAccess to performance monitoring and observability operations is limited.\nConsider adjusting"
            " /proc/sys/kernel/perf_event_paranoid setting",
            coded("perf-not-permitted", level=4),
        ),
        ("failed to open perf.data: Permission denied", "perf-not-permitted"),
        ("  Error: unknown option `control'\n\n Usage: perf record [<options>]", "perf-failed"),
        (
            "[ perf record: perf size limit reached (262150 KB), stopping session ]",
            coded("perf-failed", fault=Part("256")),
        ),
        ("Segmentation fault", coded("perf-failed", fault="Segmentation fault")),
        ("", coded("perf-failed", fault=Part("code"))),
    ],
)
def test_why_perf_gave_up_is_told_with_the_remedy(
    words: str, said: str | Coded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = why(words, "4")
    assert isinstance(fault, EnvironmentFault)
    check_messages(fault.refusals, said)


@pytest.mark.parametrize(("words", "code"), [("", 255), ("WARNING: Ignored open failure for pid 5007\n", 255)])
def test_a_thread_that_ended_while_perf_attached_is_seen_as_that(words: str, code: int) -> None:
    assert isinstance(why(words, "4", code), Gone)
    assert not isinstance(why("", "4", 1), Gone)


def test_words_of_perf_are_heard_when_it_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {}, said="Access to performance monitoring is limited")
    with refused(EnvironmentFault, "perf-not-permitted", level="2"):
        find_perf().sampling(lambda: (1,), tmp_path / "perf.data")


def test_a_process_that_is_gone_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {}, said="Couldn't create thread/CPU maps: No such process")
    asked: list[int] = []

    def processes() -> tuple[int, ...]:
        asked.append(1)
        return (1,)

    with refused(EnvironmentFault, "perf-failed", fault=Part("Couldn't create thread/CPU maps: No such process")):
        find_perf().sampling(processes, tmp_path / "perf.data")
    assert len(asked) == 3


def test_perf_that_dies_meanwhile_is_a_fault_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, {}, dies_at="disable")
    with find_perf().sampling(lambda: (1,), tmp_path / "perf.data") as sampling:
        sampling.begin()
        with refused(EnvironmentFault, "perf-failed", fault=Part(" 1")):
            sampling.end()


def test_perf_that_cannot_read_its_samples_is_a_fault_with_its_words_or_the_time_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, samples = tmp_path / "perf", Samples(tmp_path / "perf.data", (1,))
    program.write_text("#!/bin/sh\necho 'incompatible file format' >&2\nexit 255\n")
    program.chmod(0o755)
    with refused(EnvironmentFault, "perf-failed", fault=Part("incompatible file format")):
        Perf(str(program)).read(samples)
    program.write_text("#!/bin/sh\necho line\nexec sleep 60\n")
    monkeypatch.setattr("tdelta.profiling.perf._REPORT_SECONDS", 0.5)
    with refused(EnvironmentFault, "perf-failed"):
        Perf(str(program)).read(samples)
    with refused(EnvironmentFault, "perf-failed", fault=Part("No such file")):
        Perf(str(tmp_path / "nowhere")).read(samples)


def test_processes_that_are_not_known_cannot_be_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {})
    with refused(EnvironmentFault, "perf-failed"):
        find_perf().sampling(tuple, tmp_path / "perf.data")
