from pathlib import Path

from tdelta.processes.load_generator.command import LoadGenerator, Work
from tdelta.processes.load_generator.connections import Connection
from tdelta.processes.load_generator.trial import CommandLoad
from tdelta.records import Measurement


class Load(CommandLoad):
    """A load generator on one twin, ended with the block."""

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        return self._supervisor.pid

    def trial(self, work: Work, deadline_seconds: float) -> Measurement:
        self.begin(work, deadline_seconds)
        return self.answer()


def run(
    command: LoadGenerator, connection: Connection, work: Work, *, parent: Path, deadline_seconds: float
) -> Measurement:
    """Run a load generator once on one twin."""
    with Load(command, connection, parent) as load:
        return load.trial(work, deadline_seconds)
