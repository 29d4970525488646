"""Actions on the twins of embedded engines, by themselves: no rounds, no answer, one process for each twin."""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tdelta.processes import TwinFolder
from tdelta.processes.jobs import TrialJob
from tdelta.records import Measurement
from tdelta.session import RunRequest
from tdelta.session.run_plan import plan

Acted = Mapping[tuple[str, str], Measurement]


def acted(tmp_path: Path, actions: Iterable[str], again: str, beside: str = "", **options: Any) -> Acted:
    """One trial of each action on both twins, by cipher and action; and a usual one as before."""
    given = {"workload": "point-select", "seed": 1, "size_bytes": 200_000, "vary": {"work": tuple(actions)}}
    made = plan(RunRequest(**{**given, **options}), "r1")
    found = {}
    with TwinFolder(tmp_path, "acted") as folder:
        twins = made.engine.make_twins(folder, made.populate_job(), made.workload_spec())
        kinds = {str(c.level("cipher")): made.engine.settings(made, c, 200_000) for c in made.conditions}
        for settings in kinds.values():
            twins.load(settings)
        for cipher, settings in kinds.items():
            twin = twins.start(settings, f"twin-{cipher}")
            try:
                before = set(folder.path.iterdir())
                for action in (*actions, again):
                    step = "" if action == again else action
                    job = TrialJob(seed=1, stream=0, operations=5, first_op=1, deadline_seconds=60.0, step=step)
                    found[cipher, action] = twin.trial(job)
                if beside:
                    found[cipher, beside] = twin.trial(
                        dataclasses.replace(job, step="", during=beside, first_op=1 + job.operations)
                    )
                assert set(folder.path.iterdir()) == before, "an action left something over"
            finally:
                twin.end()
        twins.end()
    return found
