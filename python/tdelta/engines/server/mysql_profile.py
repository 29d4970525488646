"""Common parts of the profiles of MySQL's family: data alone, so that reading a profile imports no server."""

from __future__ import annotations

from collections.abc import Mapping

from tdelta.design.takes import SERVER_TAKES, Takes
from tdelta.engines.profile import Profile, ServerAddress, ServerProgram, server_profile
from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass
from tdelta.workloads.dialect import FLIPPED, Dialect


def mysql_dialect(name: str) -> Dialect:
    return Dialect(
        name=name,
        sqlglot="mysql",
        bytes_type="VARBINARY({})",
        quote="`",
        turned={
            "text": "concat(substr({column}, 2), substr({column}, 1, 1))",
            "integer": FLIPPED,
            "decimal": "concat(left({column}, char_length({column}) - 1), (right({column}, 1) + 5) % 10)",
            "real": "{column} * 1.0000000000000002e0",
        },
        has_ordered_rows=False,
        doubles_backslashes=True,
        explain="EXPLAIN FORMAT=JSON",
    )


NEAREST = {
    "physical": (("buffer_reads",), "pages read from files (Innodb_buffer_pool_reads)"),
    "logical": (("buffer_requests",), "requests to read a page (Innodb_buffer_pool_read_requests)"),
    "current": (("buffer_write_requests",), "requests to change a page (Innodb_buffer_pool_write_requests)"),
    "rows_changed": (("rows_inserted", "rows_updated", "rows_deleted"), "Handler_write, _update, _delete"),
}

_FUNCTIONS = Names(
    {
        FunctionClass.CHECKSUM: "my_crc comp_crc fil_crc ut_crc buf_page_is_corrupted buf_calc page_zip_calc_checksum",
        FunctionClass.CIPHER: "my_aes encryption_(crypt|ctx|scheme) fil_(space_)?(en|de)crypt log_crypt",
    }
)

_CLIENTS = {"dbapi": "tdelta.engines.server.mysql_dbapi"}
_PROCESSES = frozenset({"mysqld", "mariadbd"})
"""The names of the programs: Debian links one to the other."""


def mysql_profile(
    name: str, product: str, program: ServerProgram, widened_by: Mapping[str, str], *takes: Takes
) -> Profile:
    """The profile of an engine of the family.

    Args:
        name: the engine's, with which its DSNs begin, too.
        product: what it is called, or those that it stands for.
        program: its private servers'.
        widened_by: as in the profile.
        takes: groups of options that not all of the family take.
    """
    return server_profile(
        name=name,
        product=product,
        dialect=mysql_dialect(name),
        takes=SERVER_TAKES | {Takes.PAGE_COMPRESSION, *takes},
        warms_until_settled=True,
        unsearched="the kernel shows their files as it decrypts them",
        headings=NEAREST,
        functions=_FUNCTIONS,
        protocol="mysql",
        program=program,
        widened_by=widened_by,
        address=ServerAddress(
            schemes=(name,),
            port=3306,
            processes=_PROCESSES,
            clients=_CLIENTS,
            takes=frozenset({Takes.TRACES, Takes.SESSION_MEMORY}),
        ),
    )
