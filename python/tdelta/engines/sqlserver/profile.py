from __future__ import annotations

from tdelta.design.takes import Takes
from tdelta.engines.profile import ServerAddress, server_profile
from tdelta.workloads.dialect import Dialect

PROFILE = server_profile(
    name="sqlserver",
    product="SQL Server",
    dialect=Dialect(
        name="sqlserver",
        sqlglot="tsql",
        bytes_type="VARBINARY({})",
        bytes_literal="0x{}",
        has_ordered_rows=False,
        pads_char=True,
    ),
    takes=frozenset({Takes.OWN_SERVERS}),
    unsearched="nothing of it is started by tdelta",
    protocol="sqlserver",
    address=ServerAddress(
        schemes=("sqlserver", "mssql"),
        port=1433,
        processes=frozenset({"sqlservr"}),
        worker="tdelta.engines.sqlserver.worker",
        takes=frozenset({Takes.TRACES, Takes.BULK_LOADS, Takes.PARALLELISM}),
        is_cooled=True,
        takes_authority=False,
        needs=(
            "two instances, since one encrypted database encrypts tempdb for all; one with a server certificate (or a"
            " key of an external module) that encrypts a database already: tdelta's gets a key by it, of its algorithm",
            "rights: VIEW SERVER STATE, CREATE ANY DATABASE and ALTER ANY CONNECTION, on the encrypted instance VIEW"
            " DEFINITION on the certificate",
            "SQL Server 2016 SP1 or later",
        ),
        publishing=(
            "Microsoft's licence forbids disclosing results of benchmark tests without its prior written approval:"
            " read yours before you publish these figures"
        ),
        is_untried=True,
    ),
)
