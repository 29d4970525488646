"""Workload folders by mutation: each is read as it is, or refused with file and line, in seconds and bounded memory.

From the root of the repository::

    python tests/chaos/workloads.py --tries 100000

What is read must also be accepted by the native module: its rows are generated at a small scale, and its scripts run on
a client that does nothing.
"""

from __future__ import annotations

import json
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from counting import Tally, asked, count_in_children

import tdelta.workloads
from support.mutations import mutated
from tdelta import _native
from tdelta.engines.registry import dialects
from tdelta.errors import WorkloadError
from tdelta.processes.jobs import TrialJob
from tdelta.workloads import BUILT_IN, Workload, load

LONGEST_CPU_SECONDS = 10.0
LONGEST_SECONDS = 120.0
"""By the clock: what waits, and what the limit of CPU time does not reach."""

MEMORY_BYTES = 512 << 20
FEW_ROWS = 2_000
SAVED = Path("campaign-failures")
Files = dict[str, bytes]
_PLACED = re.compile(r"[\w.]+\.(toml|sql)(:\d+)?: \S")


class Hang(BaseException):
    """One folder took too long."""


class Invalid(Exception):
    """A message, or a workload, that no folder may lead to."""


def main() -> int:
    """Mutate, read, count."""
    ask = asked(__doc__ or "", 100_000)
    home = Path(tdelta.workloads.__file__).parent
    good = {name: _files(home / name.replace("-", "_")) for name in BUILT_IN}
    others = [content for files in good.values() for content in files.values()]
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "folder"
        _try(_written(folder, good["point-select"]))  # what is loaded lazily is loaded before memory is bounded
        signal.signal(signal.SIGPROF, _hang)

        def judged(number: int) -> tuple[str, str]:
            _bound_memory()
            return _judged(_written(folder, _mutated(good, others, ask.seed, number)))

        def kept(number: int) -> Path:
            return _written(SAVED / f"workload-{ask.seed}-{number}", _mutated(good, others, ask.seed, number))

        count_in_children(ask.numbers, judged, kept, LONGEST_SECONDS, tally)
        tally.left_over = len(list(Path(place).iterdir())) - 1
    return tally.report("workload folders")


def _mutated(good: dict[str, Files], others: list[bytes], seed: int, number: int) -> Files:
    draw = random.Random(f"{seed}/{number}")
    files = dict(good[draw.choice(BUILT_IN)])
    for name in draw.sample(sorted(files), draw.choice((1, 1, 1, 2))):
        files[name] = mutated(draw, files[name], draw.choice(others))
    return files


def _judged(folder: Path) -> tuple[str, str]:
    """The outcome of a try, or its fault."""
    signal.setitimer(signal.ITIMER_PROF, LONGEST_CPU_SECONDS)
    try:
        return _try(folder), ""
    except BaseException as error:  # a panic is not an Exception
        signal.setitimer(signal.ITIMER_PROF, 0)
        return "", "".join(traceback.format_exception(error)[-3:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _try(folder: Path) -> str:
    try:
        workload = load(folder, dialects())
    except WorkloadError as refused:
        for fault in map(str, refused.refusals):
            if not (_PLACED.match(fault) or fault.startswith("and ")) or len(fault) > 2_000 or "\x1b" in fault:
                raise Invalid(f"a fault without a place, or unreadable: {fault[:300]!r}") from None
        return "refused"
    _run(workload)
    return "read"


def _run(workload: Workload) -> None:
    """See that the native module takes what was let through."""
    scale = workload.scale_for(100_000)
    rows = workload.rows(scale)
    if sum(rows.values()) <= FEW_ROWS:
        _native.plan_checksums(json.dumps(workload.plan(scale)), 1, 1)
    scripts = [
        {"name": name, "weight": script["weight"], "text": script["text"]}
        for name, script in workload.scripts().items()
    ]
    constants = {f"rows_{name}": count for name, count in rows.items()} | {"scale": scale}
    trial = TrialJob(seed=1, stream=1, operations=5, first_op=1, deadline_seconds=1.0).as_json()
    _native.loop_cost(json.dumps(scripts), json.dumps(constants), json.dumps(trial))


def _files(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".toml", ".sql")}


def _written(folder: Path, files: Files) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def _hang(_number: int, _frame: FrameType | None) -> None:
    raise Hang


@cache
def _bound_memory() -> None:
    """Once in each child."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    sys.exit(main())
