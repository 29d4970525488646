"""What is searched for on MySQL and Percona Server, and what each scope of their encryption covers."""

from __future__ import annotations

from types import MappingProxyType

from tdelta.engines.shared.compressed_pages import inflated
from tdelta.engines.shared.evidence import ServerEvidence, parts
from tdelta.engines.shared.mysql_evidence import CHANGE_SQL, FILES, exposure_plan
from tdelta.evidence import FileClass

_PLAN = exposure_plan(
    "SET SESSION tmp_table_size = 16384, max_heap_table_size = 16384",
    "performance_schema.processlist",
    "performance_schema.global_status",
)

_PARTS = parts(
    data=(FileClass.TABLES,),
    log=(FileClass.REDO, FileClass.UNDO, FileClass.DOUBLEWRITE),
    binlog=(FileClass.BINLOG, FileClass.RELAY),
    all=(FileClass.DICTIONARY,),
)
"""Every page that is written passes through the doublewrite file as it is: those of undo, too, so that this file is
free of plaintext only where undo is encrypted (MySQL 9.7.4)."""

_PERCONA = MappingProxyType(
    {
        **_PARTS,
        "temp": frozenset((FileClass.TEMP_TABLES, FileClass.DISK_TABLES, FileClass.TEMP)),
        "all": frozenset((FileClass.DICTIONARY, FileClass.SYSTEM)),
    }
)

EVIDENCE = ServerEvidence(_PLAN, FILES, {"": _PARTS, "Percona Server": _PERCONA}, CHANGE_SQL, inflated)
