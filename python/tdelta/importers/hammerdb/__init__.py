"""HammerDB's TPROC-C results: what its command ``jobs`` and its logs print, its jobs database, its time profile.

One run leaves its figures in several places; they are read alike wherever they stand: NOPM and TPM as throughput a
second, the transaction counter as a series of it, the five procedures as summaries.
"""

from __future__ import annotations

from tdelta.importers.hammerdb.database import JobsDatabaseImporter
from tdelta.importers.hammerdb.output import JobsOutputImporter, TimeProfileImporter
from tdelta.importers.importer import Importer

IMPORTERS: tuple[Importer, ...] = (JobsOutputImporter(), JobsDatabaseImporter(), TimeProfileImporter())
