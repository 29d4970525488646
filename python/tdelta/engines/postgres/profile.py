from __future__ import annotations

import re

from tdelta.design.takes import SERVER_TAKES, Takes
from tdelta.engines.profile import ServerAddress, ServerProgram, server_profile
from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass
from tdelta.workloads.dialect import FLIPPED, Dialect

PROFILE = server_profile(
    name="postgres",
    product="PostgreSQL",
    dialect=Dialect(
        name="postgres",
        sqlglot="postgres",
        misread=((re.compile(r"\s+OVERRIDING\s+(?:SYSTEM|USER)\s+VALUE\b", re.IGNORECASE), " "),),
        bytes_type="BYTEA",
        bytes_literal="'\\x{}'::bytea",
        turned={
            "text": "substr(CAST({column} AS text), 2) || substr(CAST({column} AS text), 1, 1)",
            "integer": FLIPPED,
            "decimal": (
                "CAST(left(CAST({column} AS text), -1) || CAST((CAST(right(CAST({column} AS text), 1) AS int) + 5) % 10"
                " AS text) AS numeric)"
            ),
            "real": "{column} * CAST(1.0000000000000002 AS double precision)",
        },
        new_key="CAST({highest} AS bigint) + CAST(:op AS bigint)",
        overriding=" OVERRIDING SYSTEM VALUE",
        explain="EXPLAIN (FORMAT JSON)",
    ),
    takes=SERVER_TAKES | {Takes.ENCRYPTED_FOLDER},
    warms_until_settled=True,
    widened_by={"wal": "wal_encrypt = on, a setting of the extension"},
    not_timed="this server's own processes encrypt nothing",
    unsearched="the kernel shows their files as it decrypts them",
    functions=Names(
        {
            FunctionClass.CHECKSUM: "pg_checksum",
            FunctionClass.CIPHER: "pg_tde.*crypt",
            FunctionClass.COMPRESSION: "(^|_)pglz",
        }
    ),
    protocol="postgres",
    program=ServerProgram(
        names=("postgres",),
        products=((r"postgres \(PostgreSQL\) (\d+(?:\.\d+)*)", "PostgreSQL"),),
        remedy="apt-get install postgresql",
        cache_setting="shared_buffers",
        oldest="13",
    ),
    address=ServerAddress(
        schemes=("postgres", "postgresql"),
        port=5432,
        processes=frozenset({"postgres", "postmaster"}),
        socket_name=".s.PGSQL.{port}",
        has_databases=True,
        clients={"dbapi": "tdelta.engines.postgres.driven"},
        takes=frozenset({Takes.TRACES, Takes.SESSION_MEMORY}),
    ),
)
