from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tdelta.processes import TwinFolder
from tdelta.processes.actions import COUNTED, as_left
from tdelta.processes.jobs import TrialJob
from tdelta.processes.protocol import Checksums
from tdelta.records import Measurement
from tdelta.session import RunRequest
from tdelta.session.run_plan import plan

_SIZE = 1_000_000
_OPERATIONS = 400


@dataclass(frozen=True)
class BesideTrial:
    """The measurement, the twin's readings before and after it, and the classes of files in the clear."""

    measured: Measurement
    before: tuple[Checksums, Mapping[str, str]]
    after: tuple[Checksums, Mapping[str, str]]

    @property
    def counted(self) -> dict[str, int]:
        return {
            name.removeprefix(COUNTED): count
            for name, count in self.measured.engine_counters.items()
            if name.startswith(COUNTED)
        }

    def in_the_clear(self, rows: str) -> set[str]:
        found = ((as_left(name), count) for name, count in self.measured.engine_counters.items())
        return {left[1] for left, count in found if left is not None and left[0] == rows and count}

    def searched(self) -> set[str]:
        return {left[1] for left in map(as_left, self.measured.engine_counters) if left is not None}


def beside(folder: Path, engine: str, level: str, **options: object) -> BesideTrial:
    """One trial of reads beside which an action goes on, on the twin that it is done to."""
    given = {"workload": "point-select", "seed": 1, "size_bytes": _SIZE, "vary": {"during": (level,)}}
    made = plan(RunRequest(**{"engine": engine, "aa_control": False, **given, **options}), "r1")
    (condition,) = (c for c in made.conditions if c.level("during") == level and c.level("cipher") == "none")
    with TwinFolder(folder, "beside") as home:
        twins = made.engine.make_twins(home, made.populate_job(), made.workload_spec())
        settings = made.engine.settings(made, condition, _SIZE)
        twins.load(settings)
        twin = twins.start(settings, "twin")
        tables = made.populate_job().tables
        job = TrialJob(
            seed=1, stream=0, operations=_OPERATIONS, first_op=1, deadline_seconds=120.0, during=level, discard=0
        )
        try:
            before = twin.checksums(tables), twin.cipher_facts()
            measured = twin.trial(job)
            return BesideTrial(measured, before, (twin.checksums(tables), twin.cipher_facts()))
        finally:
            twin.end()
            twins.end()
