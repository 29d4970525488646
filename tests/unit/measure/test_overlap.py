"""How long CPUs were at work at once is what perf wrote down of threads that go on and off."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tdelta.errors import EnvironmentFault
from tdelta.measure.overlap import Work, work_of
from tdelta.measure.profile import Recording, added, find_perf

# What perf 6.1 printed of threads 11, 12 and 13: at work from 0 to 5, 2 to 4 and 7 to 9 ms.
PRINTED = """\
    0/0     [000]     0.000000000: PERF_RECORD_COMM: perf-exec:11/11
   11/11    [000]    20.000000000: PERF_RECORD_SWITCH IN         
   11/11    [000]    20.001000000: 
   11/12    [001]    20.002000000: PERF_RECORD_SWITCH IN         
   11/11    [000]    20.003000000: PERF_RECORD_FORK(11:13):(11:11)
   11/12    [001]    20.004000000: PERF_RECORD_SWITCH OUT preempt
   11/11    [000]    20.005000000: PERF_RECORD_SWITCH OUT        
   11/13    [000]    20.007000000: PERF_RECORD_SWITCH IN         
   11/13    [000]    20.009000000: PERF_RECORD_EXIT(11:13):(1:1)
   11/11    [000]    20.012000000: PERF_RECORD_SWITCH IN         
"""  # noqa: W291 - as perf prints it
# What it printed of a machine: 11, its child 14 and others, at work from 0 to 6, 2 to 4 and 8 to 9 ms.
OF_CPUS = """\
    0/0     [000]     0.000000000: PERF_RECORD_FORK(11:11):(1:1)
    7/7     [001]    19.999000000: 
   11/11    [000]    20.000000000: PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:     0/0    
   11/11    [000]    20.000000000: 
   11/11    [000]    20.001000000: PERF_RECORD_FORK(14:14):(11:11)
    7/7     [001]    20.002000000: PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid:    14/14   
   14/14    [001]    20.002000000: PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:     7/7    
   14/14    [001]    20.003000000: PERF_RECORD_FORK(15:15):(14:14)
   14/14    [001]    20.004000000: PERF_RECORD_SWITCH_CPU_WIDE OUT preempt  next pid/tid:     7/7    
    7/7     [001]    20.004000000: PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:    14/14   
    7/7     [001]    20.005000000: 
    7/7     [001]    20.005000000: PERF_RECORD_FORK(16:16):(7:7)
   11/11    [000]    20.006000000: PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid:     0/0    
    0/0     [000]    20.006000000: PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:    11/11   
   14/14    [000]    20.007000000: PERF_RECORD_EXIT(14:14):(11:11)
   14/14    [000]    20.008000000: PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:     0/0    
   14/-1    [000]    20.009000000: PERF_RECORD_SWITCH_CPU_WIDE OUT          next pid/tid:    16/16   
   16/16    [000]    20.009000000: PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:    -1/-1   
   16/16    [000]    20.020000000: 
"""  # noqa: W291
MS = 1_000_000


def at_work(printed: list[str], cpus: int, processes: Iterable[int] | None = None) -> tuple[int, ...]:
    return work_of(iter(printed), cpus, processes).at_work_ns


def test_time_is_told_by_the_number_of_cpus_at_work_from_the_first_sample_on() -> None:
    assert at_work(PRINTED.splitlines(), 2) == (4 * MS, 2 * MS)
    assert at_work(PRINTED.splitlines(), 4) == (4 * MS, 2 * MS, 0, 0)


def test_a_program_that_was_started_before_perf_was_told_to_sample_is_not_counted_until_then() -> None:
    ahead = """\
   10/10    [002]    12.000000000: PERF_RECORD_COMM exec: server:10/10
   10/10    [002]    12.000000000: PERF_RECORD_SWITCH IN         
   10/10    [002]    19.500000000: PERF_RECORD_SWITCH OUT        
"""  # noqa: W291
    assert at_work((ahead + PRINTED).splitlines(), 2) == (4 * MS, 2 * MS)
    at_work_still = ahead.replace("OUT", "IN ") + PRINTED  # it is, beside thread 11 and without it, on another CPU
    assert sum(at_work(at_work_still.splitlines(), 2)) == 11 * MS


def test_where_nothing_was_sampled_nothing_is_known() -> None:
    unsampled = [line for line in PRINTED.splitlines() if "PERF_RECORD" in line]
    assert at_work(unsampled, 2) == ()


def test_a_thread_that_had_its_cpu_before_is_at_work_from_its_first_sample_on() -> None:
    sampled = PRINTED.splitlines()[2:]  # without the line that has thread 11 get its CPU
    assert at_work(sampled, 2) == (4 * MS, 2 * MS)
    assert at_work([line for line in sampled if "/13 " not in line], 2)[1] == 2 * MS


def test_children_belong_to_the_processes_and_others_do_not() -> None:
    assert work_of(OF_CPUS.splitlines(), 2, [11]).processes == {11, 14, 15}
    assert work_of(OF_CPUS.splitlines(), 2, [7, 99]).processes == {7, 16, 99}


def test_of_whole_cpus_the_work_of_some_processes_is_told_until_the_end_of_a_thread_that_has_no_name_any_more() -> None:
    printed = OF_CPUS.splitlines()
    assert at_work(printed, 2, [11]) == (5 * MS, 2 * MS)
    assert work_of(printed, 2, [11]).threads == {11, 14}
    assert work_of(printed, 2).threads is None
    assert at_work(printed, 2, [14]) == ()  # not sampled
    assert at_work(printed, 2, [7]) == (8 * MS, 11 * MS)


def test_where_perf_lost_something_from_the_first_sample_on_that_is_known_and_the_work_is_not() -> None:
    lost = "   11/11    [000]    20.008000000: PERF_RECORD_LOST lost 6\n"
    for after in (PRINTED + lost, PRINTED + "PERF_RECORD_LOST_SAMPLES lost 6\n"):
        assert work_of(after.splitlines(), 2) == Work((), is_lost=True)
    assert work_of((lost + PRINTED).splitlines(), 2) == work_of(PRINTED.splitlines(), 2)
    assert work_of((OF_CPUS + lost).splitlines(), 2, [11]).processes == {11, 14, 15}
    assert work_of([], 2) == Work(())


def test_a_sample_at_the_very_end_is_of_no_time() -> None:
    assert at_work(["   11/11    [000]    20.001000000: "], 2) == (0, 0)


def test_overlaps_are_added_up_and_one_that_is_unknown_makes_the_sum_unknown() -> None:
    one, two = Recording((), at_work_ns=(5, 2)), Recording((), at_work_ns=(1, 1, 1))
    assert added([one, two]).at_work_ns == (6, 3, 1)
    assert added([one, Recording(())]).at_work_ns == ()


BUSY = """
import os, sys, threading, time
import hashlib
block = bytes(1 << 22)

def work(cpu, seconds):
    os.sched_setaffinity(0, {cpu})
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        hashlib.sha256(block).digest()

print("ready", flush=True)
sys.stdin.readline()
first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
threads = [threading.Thread(target=work, args=of) for of in ((first, 0.6), (last, 0.3))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    """A process with a thread that works for 0.6 s of CPU time and one that does for 0.3 s, once it is told to."""
    with subprocess.Popen([sys.executable, "-c", BUSY], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize("looks_at_cpus", [False, True])
def test_perf_tells_how_long_two_threads_were_at_work_at_once(
    looks_at_cpus: bool, busy: subprocess.Popen[str], tmp_path: Path
) -> None:
    if shutil.which("perf") is None:
        if os.environ.get("TDELTA_REQUIRE_ENGINES"):
            pytest.fail("there is no perf here: apt-get install linux-perf")
        pytest.skip("there is no perf here")
    if len(os.sched_getaffinity(0)) == 1:
        pytest.skip("one CPU works at a time")
    perf, file = dataclasses.replace(find_perf(), looks_at_cpus=looks_at_cpus), tmp_path / "perf.data"
    if looks_at_cpus and not find_perf().looks_at_cpus:
        pytest.skip("perf may not look at whole CPUs here")
    assert busy.stdin is not None
    assert busy.stdout is not None
    try:
        with perf.sampling(lambda: (busy.pid,), file) as sampling:
            sampling.begin()
            busy.stdin.write("go\n")
            busy.stdin.flush()
            busy.stdout.readline()
            time.sleep(0.05)  # idle time is nobody's
            samples = sampling.end()
    except EnvironmentFault as fault:
        if "perf may not sample here" in str(fault):  # the machine's owner decides that
            pytest.skip(str(fault))
        raise
    recording = perf.read(samples)
    if recording.is_lost:
        pytest.skip("perf lost records: this machine has too much else to do")
    alone, both = (ns / 1e9 for ns in recording.at_work_ns[:2])
    sampled = sum(one.cpu_ns for one in recording.functions) / 1e9
    # Every CPU second is at work alone or beside the other; other programs of a busy machine may keep them apart.
    assert alone + 2 * both == pytest.approx(0.9, rel=0.15)
    assert alone + 2 * both == pytest.approx(sampled, rel=0.15)
    assert 0.0 < both < 0.32
