"""SIGSTOP and SIGCONT at random moments: a run goes on to its answer, and no trial has the pause in it.

From the root of the repository::

    python tests/chaos/frozen.py --count 100

Each try begins a run as `kills` does (not on servers of the user's), stops tdelta, its workers, its servers or all of
them at a drawn moment (or as soon as they are there), for a drawn time of half a second to 30 s, and lets them go on.
The run must end, with an answer or with a clear error; a trial in the store that took longer than a pause of a second
and a half or more, and whose block had begun before the pause was over and was stored after it began, has it in it
(trials take a tenth of a second). Pauses below that are not looked for: tdelta finds those of a second or more. The
longest trial is printed, so that what the machine's other work does to trials shows.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from counting import MOST_FAILURES, Tally, asked
from kills import Shape, clear, own_shapes, promises, require_nothing_left, start

from support.running import Place
from tdelta.processes.process_tree import Process, below

SHORTEST_SECONDS, LONGEST_SECONDS = 0.5, 30.0
FOUND_SECONDS = 1.5
"""From so long on a pause in a trial is a fault."""
LOOK_AGAIN_SECONDS = 0.05
PATIENCE_SECONDS = 400.0
"""A run is given 300 s."""
ASLEEP = "TtZX"
PARTS = ("main", "workers", "servers", "all")


def main() -> int:
    """Stop, let go on, look, count."""
    ask = asked(__doc__ or "", 100)
    tally = Tally()
    tried: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        shapes = list(own_shapes(Path(folder)))
        kinds = [(shape, part) for part in PARTS for shape in shapes if part != "servers" or shape.engine]
        with contextlib.suppress(KeyboardInterrupt):  # what was tried by then is printed
            for number in ask.numbers:
                shape, part = kinds[number % len(kinds)]
                place = shape.place(Path(folder) / f"try-{number}")
                draw = random.Random(f"{ask.seed}/{number}")
                try:
                    outcome = _try(shape, part, place, draw, tally)
                    tally.outcomes[outcome] += 1
                    print(f"{number} {shape.name}, {part}: {outcome}", flush=True)
                except AssertionError as failure:
                    tally.failures.append(f"{number} {shape.name}, {part}: {failure}")
                    print(tally.failures[-1], flush=True)
                finally:
                    clear(place)
                tried[f"{shape.name} {part}"] += 1
                if len(tally.failures) >= MOST_FAILURES:
                    break
    print(", ".join(f"{name} {count}" for name, count in tried.items()))
    return tally.report("pauses")


def _try(shape: Shape, part: str, place: Place, draw: random.Random, tally: Tally) -> str:
    """The outcome of one try.

    Raises:
        AssertionError: the run hung, ended without a clear word, left something, or measured the pause.
    """
    pause = SHORTEST_SECONDS * (LONGEST_SECONDS / SHORTEST_SECONDS) ** draw.random()
    process = start(shape, place)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.0, shape.longest_seconds))
        began = time.monotonic()
        while not (stopped := _stop(process.pid, part)) and process.poll() is None:
            time.sleep(LOOK_AGAIN_SECONDS)  # on a busy machine servers and workers are not there yet
            began = time.monotonic()
        time.sleep(pause if stopped else 0.0)
        took = time.monotonic() - began
        _signal(stopped, signal.SIGCONT)
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"hangs after a pause of {pause:.1f} s") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    said = f"exit {process.returncode} after a pause of {took:.1f} s: {err[-700:]!r}"
    assert process.returncode in (0, 2, 3, 4), said
    assert "Traceback" not in err, said
    assert "defect" not in err, said
    assert process.returncode != 2 or "error: " in err, said
    require_nothing_left(place, tally)
    if not stopped:
        return "nothing to stop at that moment"
    if took >= FOUND_SECONDS:
        pause_ns = began * 1e9, (began + took) * 1e9
        meant = [p for p in promises(place) if p.at_ns > pause_ns[0] and p.began_ns < pause_ns[1]]
        within = [p for p in meant if p.trial[3] >= took * 1e9]
        assert not within, f"the pause of {took:.1f} s, ns {pause_ns}, is in the trials {within}"
    longest = max((p.trial[3] for p in promises(place)), default=0) / 1e9
    print(f"  pause {took:.1f} s, longest trial {longest:.1f} s, load {os.getloadavg()[0]:.0f}", flush=True)
    return f"exit {process.returncode}"


def _stop(tdelta: int, part: str) -> list[int]:
    """Stop a part of a run; what was stopped, less what stood still already."""
    tree = below(tdelta)
    chosen = [process for process in tree if process.state not in ASLEEP and part in ("all", _part(process))]
    with contextlib.suppress(OSError):
        if part in ("main", "all") and Path(f"/proc/{tdelta}/stat").read_text().rpartition(") ")[2][0] not in ASLEEP:
            chosen.insert(0, Process(tdelta, os.getpid(), "R", 1))
    return _signal([process.pid for process in chosen], signal.SIGSTOP)


def _part(process: Process) -> str:
    """The kind of a process below tdelta."""
    try:
        words = Path(f"/proc/{process.pid}/cmdline").read_bytes()
    except OSError:
        return ""
    if b".worker\0" in words:
        return "workers"
    return "servers" if words and b"tdelta." not in words else ""


def _signal(pids: list[int], number: signal.Signals) -> list[int]:
    reached = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            reached.append(pid)
    return reached


if __name__ == "__main__":
    sys.exit(main())
