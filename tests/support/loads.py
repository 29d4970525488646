from pathlib import Path

from tdelta.processes.load_generator.command import LoadGenerator, Work
from tdelta.processes.load_generator.connections import Connection
from tdelta.processes.load_generator.trial import CommandLoad
from tdelta.records import Measurement


def run(
    command: LoadGenerator, connection: Connection, work: Work, *, parent: Path, deadline_seconds: float
) -> Measurement:
    """Run a load generator once on one twin."""
    with CommandLoad(command, connection, parent) as load:
        return load.trial(work, deadline_seconds)
