"""Project files by mutation: each is read as it is, or refused with its lines, in seconds and bounded memory.

From the root of the repository::

    python tests/chaos/projects.py --tries 100000

What is read must also be a request that a run can be made of, or be refused for what does not go together; nothing is
run. No message may repeat the password that one of the files has.
"""

from __future__ import annotations

import random
import re
import resource
import signal
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from counting import Tally, asked, count_in_children

from support.mutations import mutated
from tdelta.errors import ProjectError
from tdelta.session.project import read_project, runs_of
from tdelta.session.project_file import FILE

LONGEST_CPU_SECONDS = 10.0
LONGEST_SECONDS = 120.0
MEMORY_BYTES = 512 << 20
SAVED = Path("campaign-failures")
NEVER_SHOWN = "geheimniskraemer"
GOOD = (
    b"""# a project
studies = ["order-entry", "spill"]
engines = ["sqlite"]
labels = ["ci", "v3.1"]
budget = "5%"
max-time = "1h30m"
rounds = "3..5"
threads = 4
trial-time = "0.5s"
size = "3MB"
no-bb = true
store = "runs.sqlite"

[vary]
cipher = ["aes-128", "aes-256"]
cache = ["10%", "120%"]

[study.spill]
max-time = "5m"

[engine.sqlite]
page-size = "8KiB"
inject = ["5%", "10%"]
""",
    b"""engine = "mariadb"
workload = "mine"
load-generator = "sysbench oltp_read_only run"
vary = ["cipher=aes-256", "threads=1,4"]
label = "nightly"
scope = "data"
metric = "cpu_per_operation"
latency-limit = "20ms"
""",
    b"""baseline = "mysql://me@db1/?password-env=DB_PASSWORD&tls=require"
encrypted = "mysql://me:geheimniskraemer@db2/"
max-time = "30m"
rate = 100.5
seed = 7
""",
)
_PLACED = re.compile(r"tdelta\.toml(:\d+)?: \S|[\w-]+ on [\w ]+: \S|and ")


class Hang(BaseException):
    """One file took too long."""


class Invalid(Exception):
    """A message that no file may lead to."""


def main() -> int:
    """Mutate, read, count."""
    ask = asked(__doc__ or "", 100_000)
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / FILE
        for good in GOOD:  # what is loaded lazily is loaded before memory is bounded
            path.write_bytes(good)
            _try(path)
        signal.signal(signal.SIGPROF, _hang)

        def judged(number: int) -> tuple[str, str]:
            _bound_memory()
            path.write_bytes(_mutated(ask.seed, number))
            return _judged(path)

        def kept(number: int) -> Path:
            SAVED.mkdir(exist_ok=True)
            saved = SAVED / f"project-{ask.seed}-{number}.toml"
            saved.write_bytes(_mutated(ask.seed, number))
            return saved

        count_in_children(ask.numbers, judged, kept, LONGEST_SECONDS, tally)
        tally.left_over = len(list(Path(place).iterdir())) - 1
    return tally.report("project files")


def _mutated(seed: int, number: int) -> bytes:
    draw = random.Random(f"{seed}/{number}")
    return mutated(draw, draw.choice(GOOD), draw.choice(GOOD))


def _judged(path: Path) -> tuple[str, str]:
    """The outcome of a try, or its fault."""
    signal.setitimer(signal.ITIMER_PROF, LONGEST_CPU_SECONDS)
    try:
        return _try(path), ""
    except BaseException as error:  # a panic is not an Exception
        signal.setitimer(signal.ITIMER_PROF, 0)
        return "", "".join(traceback.format_exception(error)[-3:])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _try(path: Path) -> str:
    try:
        runs = runs_of(read_project(path), {})
    except ProjectError as refused:
        for fault in map(str, refused.refusals):
            if not _PLACED.match(fault) or len(fault) > 3_000 or not fault.replace("\n", "").isprintable():
                raise Invalid(f"a fault without a place, or unreadable: {fault[:300]!r}") from None
            if NEVER_SHOWN in fault:
                raise Invalid(f"a password is repeated: {fault[:300]!r}") from None
        return "refused"
    for run in runs:
        run.request.to_json()
    return "read"


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
