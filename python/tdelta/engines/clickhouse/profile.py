"""ClickHouse, as far as it is data."""

from __future__ import annotations

from types import MappingProxyType

from tdelta.engines.profile import Profile
from tdelta.engines.takes import Takes
from tdelta.profiling.functions import Names
from tdelta.records import FunctionClass
from tdelta.workloads.dialect import Dialect

PROFILE = Profile(
    name="clickhouse",
    product="ClickHouse",
    dialect=Dialect("clickhouse", "clickhouse", bytes_type="String", bytes_literal="unhex('{}')"),
    takes=frozenset({Takes.INSTANCES, Takes.TRACES}),
    defaults=MappingProxyType({"workload": "warehouse"}),
    headings={  # what it has in memory is not counted
        "physical": (("syscall_read_bytes",), "bytes asked of the system to read (rchar)"),
        "current": (("syscall_written_bytes",), "bytes asked of the system to write (wchar)"),
    },
    fills_cpus=True,
    cold_operations=None,
    connects=False,
    most_cold=1,
    shown="planted rows in its files",
    not_timed="the cipher is part of ClickHouse, where its calls cannot be timed",
    functions=Names(
        {
            FunctionClass.CHECKSUM: "CityHash_v1_0_2 ::CompressedReadBufferBase",
            FunctionClass.CIPHER: "aesni_ctr32 AES_ctr32 EVP_EncryptUpdate FileEncryption::",
        },
        modules={"_chdb": "chdb"},
    ),
)
