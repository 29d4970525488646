"""What the profiles of MySQL's family have in common: data alone, so that asking for a profile imports no server."""

from __future__ import annotations

from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass

NEAREST = {
    "physical": (("buffer_reads",), "pages read from files (Innodb_buffer_pool_reads)"),
    "logical": (("buffer_requests",), "requests to read a page (Innodb_buffer_pool_read_requests)"),
    "current": (("buffer_write_requests",), "requests to change a page (Innodb_buffer_pool_write_requests)"),
    "rows_changed": (("rows_inserted", "rows_updated", "rows_deleted"), "Handler_write, _update, _delete"),
}

FUNCTIONS = Names(
    {
        FunctionClass.CHECKSUM: "my_crc comp_crc fil_crc ut_crc buf_page_is_corrupted buf_calc page_zip_calc_checksum",
        FunctionClass.CIPHER: "my_aes encryption_(crypt|ctx|scheme) fil_(space_)?(en|de)crypt log_crypt",
    }
)

DRIVEN = "tdelta.engines.shared.mysql_driven"
PROCESSES = frozenset({"mysqld", "mariadbd"})
"""What servers are called: Debian links one name to the other's program."""
