from __future__ import annotations

from tdelta.engines.shared.compressed_pages import inflated
from tdelta.engines.shared.evidence import SPILL, ServerEvidence, parts, steps
from tdelta.engines.shared.mysql_evidence import CHANGE_SQL, FILES, exposure_plan
from tdelta.evidence import FileClass

_PLAN = exposure_plan(
    "SET SESSION tmp_memory_table_size = 16384, max_heap_table_size = 16384",
    "information_schema.PROCESSLIST",
    "information_schema.GLOBAL_STATUS",
    # Once it finds no room in a pool that shrinks, MariaDB's page cleaner looks for room only and writes no table's
    # page until one is evicted (seen in 10.11.19 with encrypted temporary tables): reading evicts some.
    *steps("spill", f"SELECT COUNT(marker) FROM {SPILL}"),
)

_PARTS = parts(
    data=(FileClass.TABLES, FileClass.SYSTEM, FileClass.UNDO, FileClass.DOUBLEWRITE),
    log=(FileClass.REDO,),
    temp=(FileClass.TEMP_TABLES, FileClass.TEMP),
    binlog=(FileClass.BINLOG, FileClass.RELAY),
)
"""Not the tables that queries make on disk: with ``encrypt_tmp_disk_tables`` and ``aria_encrypt_tables`` ON, MariaDB
10.11.19 writes their pages in the clear as soon as Aria's cache is full. Where a version does better, they read "not
found" all the same.
"""


EVIDENCE = ServerEvidence(_PLAN, FILES, {"": _PARTS}, CHANGE_SQL, inflated)
