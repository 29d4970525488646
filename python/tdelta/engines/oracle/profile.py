from __future__ import annotations

from tdelta.design.takes import Takes
from tdelta.engines.profile import ServerAddress, server_profile
from tdelta.workloads.dialect import Dialect

PROFILE = server_profile(
    name="oracle",
    product="Oracle Database",
    dialect=Dialect(
        name="oracle",
        sqlglot="oracle",
        bytes_type="RAW({})",
        bytes_literal="HEXTORAW('{}')",
        has_ordered_rows=False,
        pads_char=True,
        names_keys=True,
    ),
    takes=frozenset({Takes.OWN_SERVERS}),
    headings={
        "physical": (("physical reads",), "disk: blocks read from files (physical reads)"),
        "logical": (("consistent gets",), "query: blocks read as of a moment (consistent gets)"),
        "current": (("db block gets",), "current: blocks read as they are, to be changed (db block gets)"),
        "rows_changed": (("rows_changed",), "V$SQLSTATS.ROWS_PROCESSED"),
    },
    unsearched="nothing of it is started by tdelta",
    protocol="oracle",
    address=ServerAddress(
        schemes=("oracle",),
        port=1521,
        tls_port=2484,
        processes=frozenset(),  # an instance is many processes, none of which began the others: its own account serves
        has_databases=True,
        needs_service=True,
        place="tablespace",
        takes=frozenset({Takes.TRACES, Takes.SESSION_MEMORY, Takes.ARRAYS, Takes.BULK_LOADS}),
        loader="sqlldr",
        is_cooled=True,
        worker="tdelta.engines.oracle.worker",
        clients={"thick": "tdelta.engines.oracle.worker"},
        needs=(
            "two tablespaces (?tablespace=NAME), two pluggable databases or two hosts; the default tablespace of the"
            " user, or the one that the DSN names, is encrypted on one of them",
            "rights: SELECT_CATALOG_ROLE, EXECUTE on DBMS_LOCK, CREATE and DROP USER, and the ANY rights on tables and"
            " indexes",
            "18c or later, for users without authentication",
        ),
        publishing=(
            "Oracle's licence forbids disclosing results of benchmark tests without its consent: read yours before you"
            " publish these figures"
        ),
        is_untried=True,
    ),
)
