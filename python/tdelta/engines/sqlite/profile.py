from __future__ import annotations

import re

from tdelta.design.takes import Takes
from tdelta.engines.profile import Profile, Setting
from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass
from tdelta.workloads.dialect import Dialect

_TURNED = {
    "text": "substr({column}, 2) || substr({column}, 1, 1)",
    "integer": "({column} | 1) - ({column} & 1)",
    "real": "{column} * 1.0000000000000002",
}
"""The factor is the least double above 1."""

DIALECT = Dialect(
    name="sqlite",
    sqlglot="sqlite",
    misread=(  # shorter ways to write a conflict clause
        (re.compile(r"\Areplace\b", re.IGNORECASE), "INSERT OR REPLACE"),
        (re.compile(r"\Aupdate\s+or\s+(?:rollback|abort|replace|fail|ignore)\b", re.IGNORECASE), "UPDATE"),
    ),
    turned={  # a column's values may be of any type
        storage: f"CASE typeof({{column}}) WHEN '{storage}' THEN {expression} ELSE {{column}} END"
        for storage, expression in _TURNED.items()
    },
    has_types=False,
)


def _pragma(name: str, *, is_own: bool = False, **levels: str) -> Setting:
    return Setting(f"PRAGMA {name}={{value}}", f"PRAGMA {name}", levels, is_own=is_own)


PROFILE = Profile(
    name="sqlite",
    product="SQLite",
    dialect=DIALECT,
    takes=frozenset({Takes.INSTANCES, Takes.CACHE, Takes.LIBRARY, Takes.TRACES}),
    settings={
        "journal_mode": _pragma("journal_mode", is_own=True),
        "synchronous": _pragma("synchronous", off="0", normal="1", full="2", extra="3"),
        "cache_size": _pragma("cache_size", is_own=True),
        "secure_delete": _pragma("secure_delete", is_own=True),
        "temp_store": _pragma("temp_store", default="0", file="1", memory="2"),
    },
    headings={  # requests to change a page are not counted
        "physical": (("cache_misses",), "pages read from the file (SQLITE_DBSTATUS_CACHE_MISS)"),
        "logical": (("cache_hits", "cache_misses"), "requests for a page (CACHE_HIT and CACHE_MISS)"),
        "current": (("cache_writes",), "pages written to the log or the file (CACHE_WRITE)"),
        "rows_changed": (("rows_changed",), "sqlite3_total_changes"),
    },
    shown="its header",
    not_timed="the cipher is part of the library, where its calls cannot be timed",
    functions=Names(
        {
            FunctionClass.CHECKSUM: "walChecksum",
            FunctionClass.HASH: "^body$",
            FunctionClass.CIPHER: r"""
            ^sqlite3mc(AES|RC4|ChaCha|GenerateInitialVector|_softaes|Codec(\.|$)) ^sqlite3Codec ^mcTempXor
            (AES|RC4|Aegis|Ascon|ChaCha)\w*Cipher$ sqlcipher_(page_)?cipher sqlcipher_openssl_cipher
        """,
            FunctionClass.CRYPTO: "^sqlcipher_ ^sqlite3mc",
        },
        modules={"__init__": "apsw", "_sqlite3": "sqlcipher3"},
    ),
)
