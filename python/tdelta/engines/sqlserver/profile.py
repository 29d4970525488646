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
        takes=frozenset({Takes.TRACES, Takes.BULK_LOADS}),
        is_cooled=True,
        needs=(
            "two instances, since one encrypted database encrypts tempdb for all; one with a server certificate that"
            " encrypts a database already: tdelta's gets a key of that certificate and algorithm",
            "rights: CONTROL SERVER, or VIEW SERVER STATE, CREATE ANY DATABASE and ALTER ANY CONNECTION",
            "SQL Server 2016 or later",
        ),
        publishing=(
            "Microsoft's licence forbids disclosing results of benchmark tests without its prior written approval:"
            " read yours before you publish these figures"
        ),
        is_untried=True,
    ),
)
