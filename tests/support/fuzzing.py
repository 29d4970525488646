"""Mutated files against importers: a sound result or an `ImportFault`, whatever is in them.

One child process for each importer does the work: its memory is bounded (``RLIMIT_AS``, 256 MiB above what it has when
it starts), and a timer of its own CPU time ends what hangs. What fails is saved, and the seed alone repeats it.
"""

import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from support.mutations import mutated
from tdelta.errors import ImportFault
from tdelta.importers.detect import IMPORTERS
from tdelta.importers.importer import Importer, Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Binned, Bins, Figure, Observation, Samples, Series, Summary

FIXTURES = Path(__file__).parent.parent / "data" / "importers"
MEMORY_BYTES = 256 << 20
LONGEST_CPU_SECONDS = 10.0
"""For one file of at most 100 kB, which takes milliseconds."""
_FILES_NOT_TO_MUTATE = frozenset(("README.md",))


class Hang(BaseException):
    pass


class Invalid(Exception):
    """An observation that no file may lead to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcomes of the mutations of one importer; ``failures`` are empty if all is well."""

    importer: str
    results: int
    faults: int
    failures: tuple[str, ...]


def fuzz(importer: str, mutations: int, seed: int, saved: Path) -> Outcome:
    """Run the mutations in a child process; files that fail are left in ``saved``."""
    paths = os.pathsep.join(filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH"))))
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    words = [sys.executable, "-m", "support.fuzzing", importer, str(mutations), str(seed), str(saved)]
    limit = 120 + mutations * 0.5
    try:
        ended = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Outcome(importer, 0, 0, (f"the process did not end within {limit:.0f} s",))
    try:
        answer = json.loads(ended.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return Outcome(importer, 0, 0, (f"the process died ({ended.returncode}): {ended.stderr[-2000:]}",))
    return Outcome(importer, answer["results"], answer["faults"], tuple(answer["failures"]))


def fixtures_of(importer: Importer) -> list[Path]:
    files = sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.name not in _FILES_NOT_TO_MUTATE)
    return [path for path in files if importer.recognizes(FileSource(path))]


def is_valid(observation: Observation) -> None:
    group = observation.group
    _must(
        bool(group.condition) and bool(group.transaction) and bool(group.metric) and bool(group.run), "a name is empty"
    )
    names = (
        group.condition,
        group.transaction,
        group.metric,
        group.run,
        *(str(it) for level in group.levels for it in level),
    )
    _must(
        all(name.isprintable() for name in (*names, *map(str, observation.origin.cautions))),
        "a name would move the cursor",
    )
    match observation:
        case Samples():
            numbers = (observation.total, observation.total_log, observation.total_squares)
            _must(0 <= observation.zeros <= observation.count > 0, "no count")
            _must(all(map(math.isfinite, numbers)), "a sum is not finite")
            least = 0.0 if observation.zeros else math.ulp(0.0)
            _must(least <= observation.minimum <= observation.maximum, "minimum and maximum")
            _must(sum(observation.bins.counts) == observation.count, "bins do not hold all samples")
            _must(sum(count for count, _ in observation.clusters) == observation.count, "stretches lack samples")
            _must(len(observation.clusters) <= 4096, "too many stretches")
            _bins_are_sound(observation.bins)
        case Binned():
            _bins_are_sound(observation.bins)
        case Summary():
            sd = observation.sd
            _must(observation.count > 0, "no count")
            _must(0 <= observation.mean < math.inf and (sd is None or 0 <= sd < math.inf), "mean or sd")
            _must(
                all(0 < share < 1 and 0 <= value < math.inf for share, value in observation.quantiles.items()),
                "quantile",
            )
        case Series():
            _must(len(observation.values) > 0 and 0 < observation.interval_seconds < math.inf, "no interval")
            _must(all(0 <= value < math.inf for value in observation.values), "a value is not finite")
            _must(0 <= observation.starts_at_seconds < math.inf, "no start")
        case Figure():
            _must(0 <= observation.value < math.inf, "a value is not finite")


def _bins_are_sound(bins: Bins) -> None:
    _must(len(bins.edges) == len(bins.counts) + 1 and min(bins.counts) >= 0 and sum(bins.counts) > 0, "bins")
    _must(all(0 <= low < high < math.inf for low, high in zip(bins.edges, bins.edges[1:], strict=False)), "edges")


def _must(is_so: bool, what: str) -> None:
    if not is_so:
        raise Invalid(what)


def _answer_of(importer: Importer, path: Path, others: Sequence[Importer] = ()) -> bool:
    """Whether there was a result; False for an `ImportFault`. Others only say whether they would know the file."""
    try:
        source = FileSource(path)
        for other in (importer, *others):
            other.recognizes(source)
        for observation in importer.read(source, Naming("plain", unit="ms")):
            is_valid(observation)
    except ImportFault as fault:
        if not str(fault).strip() or "Traceback" in str(fault) or "\x1b" in str(fault) or len(str(fault)) > 20_000:
            raise Invalid(f"an unreadable fault: {str(fault)[:200]!r}") from None
        return False
    return True


def _hang(_: int, __: FrameType | None) -> None:
    raise Hang


def _bound_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _child(name: str, mutations: int, seed: int, saved: Path) -> None:
    importer = next(importer for importer in IMPORTERS if importer.name == name)
    good = [path.read_bytes() for path in fixtures_of(importer)]
    others = [path.read_bytes() for path in sorted(FIXTURES.rglob("*")) if path.is_file()]
    for path in fixtures_of(importer):
        _answer_of(importer, path)  # what is loaded lazily is loaded before memory is bounded
    signal.signal(signal.SIGPROF, _hang)
    _bound_memory()
    tally: Counter[str] = Counter()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated"
        for number in range(mutations):
            draw = random.Random(f"{seed}/{name}/{number}")
            content = mutated(draw, draw.choice(good), draw.choice(others))
            path.write_bytes(content)
            signal.setitimer(signal.ITIMER_PROF, LONGEST_CPU_SECONDS)
            try:
                tally["results" if _answer_of(importer, path, [IMPORTERS[number % len(IMPORTERS)]]) else "faults"] += 1
            except (Exception, Hang) as error:  # whatever it is, it is a failure
                kept = saved / f"{name.replace(' ', '-')}-{seed}-{number}"
                saved.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(content)
                last = "".join(traceback.format_exception(error)[-2:])
                failures.append(f"seed {seed}, mutation {number}, saved as {kept}: {last}")
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            if len(failures) >= 10:
                break
    print(json.dumps({"results": tally["results"], "faults": tally["faults"], "failures": failures}))  # noqa: T201


if __name__ == "__main__":
    _child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
