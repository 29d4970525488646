"""SQLite twins, whose rows may be those of a user's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tdelta.engines.embedded.twins import EmbeddedTwins
from tdelta.engines.sqlite.user_file import convert
from tdelta.processes.jobs import DatabaseJob
from tdelta.processes.protocol import Checksums


class SqliteTwins(EmbeddedTwins):
    def fill(self, engine: Any, path: Path, settings: Any) -> tuple[str, Checksums]:
        if isinstance(self._job, DatabaseJob):
            return convert(engine, self.folder, self._job, settings, path, self.key(settings.cipher))
        return super().fill(engine, path, settings)

    def expected_checksums(self) -> Checksums:
        """The checksums of the rows as generated, or as read from a user's database."""
        return self._job.checksums if isinstance(self._job, DatabaseJob) else super().expected_checksums()
