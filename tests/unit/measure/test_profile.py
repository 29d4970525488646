"""perf is found, told when to sample, and read; whatever keeps it from that is told with its remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tdelta_fake_perf import install, report

from tdelta.errors import EnvironmentFault
from tdelta.measure.profile import Recording, added, find_perf, parse_report, why
from tdelta.records import Sampled

# What perf 6.1 printed of a SQLite twin, tabulators and blanks as they were.
PRINTED = """\
# To display the perf.data header info, please use --header/--header-only options.
#
#
# Total Lost Samples: 0
#
# Samples: 263  of event 'cpu-clock'
# Event count (approx.): 263263263
#
# Samples\t  Period\tShared Object\tSymbol
 8          \t 8008008    \t[kernel.kallsyms]                       \t[k] _copy_to_iter
 53         \t 53053053   \t_native.abi3.so                         \t[.] 0x00000000000e7d1c
 2          \t 2002002    \t_native.abi3.so                         \t[.] 0x00000000000e7d20
 401        \t 401401401  \t__init__.cpython-311-x86_64-linux-gnu.so\t[.] aesEncryptCBC
 3          \t 3003003    \t_duckdb.so                              \t[.] duckdb::BitpackingScanPartial<int, int>
 1          \t 1001001    \t[unknown]                               \t[.] 0x00007f0000000000
"""


def test_what_perf_prints_becomes_functions_and_those_without_a_name_are_one_for_each_file() -> None:
    found = parse_report(PRINTED)
    assert found.has_kernel
    assert found.functions == (
        Sampled("[kernel.kallsyms]", "_copy_to_iter", 8, 8_008_008, is_kernel=True),
        Sampled("_native.abi3.so", "", 55, 55_055_055),
        Sampled("__init__.cpython-311-x86_64-linux-gnu.so", "aesEncryptCBC", 401, 401_401_401),
        Sampled("_duckdb.so", "duckdb::BitpackingScanPartial<int, int>", 3, 3_003_003),
        Sampled("[unknown]", "", 1, 1_001_001),
    )


def test_a_report_without_samples_has_no_functions() -> None:
    assert parse_report("# Samples: 0  of event 'cpu-clock'\n").functions == ()


def test_a_recording_of_programs_alone_says_so() -> None:
    assert not parse_report(report((1, "a", "[.] f"), event="cpu-clock:u")).has_kernel


def test_no_folder_of_anybodys_is_kept() -> None:
    (one,) = parse_report(report((1, "/home/me/lib/libcrypto.so.3 (deleted)", "[.] EVP_CipherUpdate"))).functions
    assert (one.dso, one.symbol) == ("libcrypto.so.3", "EVP_CipherUpdate")


def test_recordings_are_added_function_by_function() -> None:
    once = parse_report(PRINTED)
    twice = added([once, once, Recording((Sampled("x", "y", 1, 7),), has_kernel=False)])
    assert sum(one.samples for one in twice.functions) == 2 * sum(one.samples for one in once.functions) + 1
    assert not twice.has_kernel


def test_samples_are_of_what_ran_between_begin_and_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {"": report((5, "postgres", "[.] ExecScan"))})
    perf, file = find_perf(), tmp_path / "perf.data"
    with perf.sampling(lambda: (os.getpid(), 7), file) as sampling:
        sampling.begin()
        sampling.end()
    assert file.read_text() == f"{os.getpid()},7"
    assert perf.read(file).functions == (Sampled("postgres", "ExecScan", 5, 5_005_005),)


def test_without_perf_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentFault, match="there is no perf here; install perf: Debian linux-perf"):
        find_perf()


def test_a_perf_of_another_kernel_is_told_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "perf"
    program.write_text("#!/bin/sh\necho 'WARNING: perf not found for kernel 6.18' >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(EnvironmentFault, match=r"perf not found for kernel 6\.18"):
        find_perf()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            "Error:\nAccess to performance monitoring and observability operations is limited.\nConsider adjusting"
            " /proc/sys/kernel/perf_event_paranoid setting",
            r"may not sample here \(kernel.perf_event_paranoid is 4\); allow it: sysctl",
        ),
        ("failed to open perf.data: Permission denied", "may not sample here"),
        ("  Error: unknown option `control'\n\n Usage: perf record [<options>]", "too old"),
        ("Segmentation fault", "perf gave up: Segmentation fault"),
        ("", "perf gave up: it said nothing"),
    ],
)
def test_why_perf_gave_up_is_told_with_the_remedy(
    words: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(why(words, "4"), EnvironmentFault)
    with pytest.raises(EnvironmentFault, match=told):
        raise why(words, "4")


def test_words_of_perf_are_heard_when_it_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {}, said="Access to performance monitoring is limited")
    with pytest.raises(EnvironmentFault, match="may not sample here"):
        find_perf().sampling(lambda: (1,), tmp_path / "perf.data")


def test_a_process_that_is_gone_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {}, said="Couldn't create thread/CPU maps: No such process")
    asked: list[int] = []

    def processes() -> tuple[int, ...]:
        asked.append(1)
        return (1,)

    with pytest.raises(EnvironmentFault, match="No such process"):
        find_perf().sampling(processes, tmp_path / "perf.data")
    assert len(asked) == 3


def test_perf_that_dies_meanwhile_is_a_fault_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, {}, dies_at="disable")
    with find_perf().sampling(lambda: (1,), tmp_path / "perf.data") as sampling:
        sampling.begin()
        with pytest.raises(EnvironmentFault, match="perf gave up"):
            sampling.end()


def test_processes_that_are_not_known_cannot_be_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {})
    with pytest.raises(EnvironmentFault, match="processes are not known"):
        find_perf().sampling(tuple, tmp_path / "perf.data")
