"""Samples at a PAUSE are told from the others of their function, whatever file or process they are of."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdelta.errors import EnvironmentFault
from tdelta.measure.profile import Recording, added, find_perf, with_spinning
from tdelta.measure.spinning import PAUSE, code_of, spinning_samples
from tdelta.records import Sampled

# What perf 6.1 printed with --show-mmap-events; a mapping of mariadbd's begins at its file's byte 0x1000.
PRINTED = """\
    0 PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1209988) @ 0xffffffff81000000]: x [kernel.kallsyms]_text
    0 PERF_RECORD_MMAP2 117/117: [0x555bf3c2b000(0x1000) @ 0x1000 fe:00 9980471 0]: r-xp /usr/sbin/mariadbd
    0 PERF_RECORD_MMAP2 117/117: [0x7fcfa4cc3000(0x156000) @ 0 fe:00 326269 0]: r-xp /usr/lib/libc.so.6
  117      555bf3c2b1aa delay(unsigned int, (anonymous namespace)::lock) (/usr/sbin/mariadbd)
  117      555bf3c2b1a8 [unknown] (/usr/sbin/mariadbd)
  118      555bf3c2b1aa [unknown] (/usr/sbin/mariadbd)
  117      555bf3c2b1b2 work (/usr/sbin/mariadbd)
  117      555bf3c2b19f work (/usr/sbin/mariadbd)
  117      555bf3c2c000 [unknown] (/usr/sbin/mariadbd)
  117      7fcfa4cc31aa memcpy (/usr/lib/libc.so.6)
  117  ffffffff810001aa pv_spin ([kernel.kallsyms])
"""
MARIADBD = "/usr/sbin/mariadbd"


def code(path: str, offset: int, length: int) -> bytes:
    """A PAUSE at byte 0x11a8 of mariadbd and nowhere else; other roots have no files."""
    if path.startswith("/proc/"):
        return b""
    whole = bytearray(0x3000)
    if path == MARIADBD:
        whole[0x11A8:0x11AA] = PAUSE
    return bytes(whole[offset : offset + length])


def test_what_lies_at_a_pause_or_right_behind_it_spins_in_a_child_too() -> None:
    named = "delay(unsigned int, (anonymous namespace)::lock)"
    assert spinning_samples(PRINTED.splitlines(), code) == {(MARIADBD, named): 1, (MARIADBD, ""): 2}


def test_of_some_processes_neither_the_samples_nor_the_mappings_of_others_count() -> None:
    assert spinning_samples(PRINTED.splitlines(), code, {117}) == {
        (MARIADBD, "delay(unsigned int, (anonymous namespace)::lock)"): 1,
        (MARIADBD, ""): 1,
    }
    assert not spinning_samples(PRINTED.splitlines(), code, {118}), "its parent's mapping is not meant"


def test_a_process_in_a_container_has_its_own_file_at_that_path() -> None:
    def contained(path: str, offset: int, length: int) -> bytes:
        if path.startswith("/proc/117/root/"):
            return code(path.removeprefix("/proc/117/root"), offset, length)
        return bytes(length)

    assert spinning_samples(PRINTED.splitlines(), contained).total() == 3


# As assemblers write them, found in PostgreSQL, DuckDB, Go's programs and MariaDB.
@pytest.mark.parametrize(
    ("ahead", "spins"),
    [
        ("48 89", False),  # mov %rsi, %rbx; nop
        ("4c 8b", False),
        ("89", False),  # mov %esi, %ebx; nop
        ("48 29", False),  # sub %rsi, %rbx; nop
        ("0f b6", False),  # movzbl %bl, %esi; nop
        ("85", False),  # test %esi, %ebx; nop
        ("83 e8 01", True),  # sub $1, %eax
        ("75 03", True),  # jne
        ("90", True),
        ("66 0f 1f 44 00 00", True),  # padding
    ],
)
def test_the_same_bytes_within_another_instruction_are_no_pause(ahead: str, spins: bool) -> None:
    whole = bytearray(0x3000)
    begins = bytes.fromhex(ahead)
    whole[0x11A8 - len(begins) : 0x11AA] = begins + PAUSE

    def read(_: str, offset: int, length: int) -> bytes:
        return bytes(whole[offset : offset + length])

    lines = (line for line in PRINTED.splitlines() if "libc" not in line)
    assert bool(spinning_samples(lines, read)) is spins


def test_a_file_that_cannot_be_read_has_none() -> None:
    assert code_of("/nowhere/mariadbd", 0, 10) == b""
    assert not spinning_samples(PRINTED.splitlines(), lambda *_: b"")


def test_bytes_of_a_file_are_those_at_their_place(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_bytes(b"0123456789")
    assert code_of(str(file), 4, 3) == b"456"


def test_samples_that_spin_stand_apart_and_none_is_lost() -> None:
    recording = Recording((Sampled("mariadbd", "", 10, 1000), Sampled("[kernel.kallsyms]", "", 5, 500, is_kernel=True)))
    spun = with_spinning(recording, {("/usr/sbin/mariadbd", ""): 3, ("/usr/sbin/other", "f"): 4})
    assert spun.functions == (
        Sampled("mariadbd", "", 7, 700),
        Sampled("mariadbd", "", 3, 300, is_spinning=True),
        Sampled("[kernel.kallsyms]", "", 5, 500, is_kernel=True),
    )
    all_of_it = with_spinning(recording, {("/opt/mariadbd", ""): 99})
    assert all_of_it.functions[0] == Sampled("mariadbd", "", 10, 1000, is_spinning=True)
    assert added([spun, spun]).functions[1] == Sampled("mariadbd", "", 6, 600, is_spinning=True)


@pytest.fixture
def spinner() -> Iterator[int]:
    """A process that waits for a spin lock of the C library's that nobody will release."""
    words = (
        "import ctypes; c = ctypes.CDLL(None); lock = ctypes.c_int(); c.pthread_spin_init(ctypes.byref(lock), 0);"
        "c.pthread_spin_lock(ctypes.byref(lock)); print('spins', flush=True); c.pthread_spin_lock(ctypes.byref(lock))"
    )
    if os.uname().machine != "x86_64" or not hasattr(ctypes.CDLL(None), "pthread_spin_lock"):
        pytest.skip("no PAUSE in this processor's spin locks")
    with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.send_signal(signal.SIGKILL)


def test_perf_finds_a_process_that_spins(spinner: int, tmp_path: Path) -> None:
    if shutil.which("perf") is None:
        if os.environ.get("TDELTA_REQUIRE_ENGINES"):
            pytest.fail("there is no perf here: apt-get install linux-perf")
        pytest.skip("there is no perf here")
    perf, file = find_perf(), tmp_path / "perf.data"
    try:
        with perf.sampling(lambda: (spinner,), file) as sampling:
            sampling.begin()
            time.sleep(0.5)
            samples = sampling.end()
    except EnvironmentFault as fault:
        if "perf may not sample here" in str(fault):  # the machine's owner decides that
            pytest.skip(str(fault))
        raise
    functions = perf.read(samples).functions
    spinning = sum(one.samples for one in functions if one.is_spinning)
    programs = sum(one.samples for one in functions if not one.is_kernel)
    assert spinning > 0.8 * programs > 0, functions
