"""The statements that set a process up and attach a file: all that a worker needs to know of the engine."""

from __future__ import annotations

from collections.abc import Mapping

from tdelta.engines.embedded.sql import literal

BLOCK_BYTES = 1 << 18
"""What is encrypted at once, and read at once; a block's header with nonce and tag is in it."""

CATALOG = "twin"
"""By what name a twin's file is attached."""

_MODULE = "httpfs"


def attach_sql(options: Mapping[str, object], name: str = CATALOG) -> str:
    """The statement that attaches a file under a name. It holds the key: never to be logged, nor its errors.

    A cipher without a key would make a plain file without a word, so neither is given without the other.

    Raises:
        ValueError: a key without a cipher, or a cipher without a key.
    """
    key, mode = options["key"], options["mode"]
    if (key is None) is not (mode is None):
        raise ValueError("a key and a cipher's mode: expected both or neither")
    given = ["READ_ONLY"] if options["read_only"] else [f"STORAGE_VERSION {literal(str(options['storage_version']))}"]
    if key is not None:
        given += [f"ENCRYPTION_KEY {literal(str(key))}", f"ENCRYPTION_CIPHER {literal(str(mode))}"]
    return f"ATTACH {literal(str(options['path']))} AS {name} ({', '.join(given)})"


def setting_statements(options: Mapping[str, object]) -> tuple[str, ...]:
    """What to run ahead of attaching: nothing is ever fetched from a network, the module comes from its wheel."""
    statements = [
        "SET autoinstall_known_extensions = false",
        "SET autoload_known_extensions = false",
        f"SET threads = {options['threads']}",
        f"SET memory_limit = '{options['memory_mib']}MiB'",
        f"SET temp_directory = {literal(str(options['temporary']))}",
        f"LOAD {literal(str(options['module']))}",
    ]
    if options["is_mbedtls"]:
        statements.append("SET force_mbedtls_unsafe = true")
    # Behind the module: it is what encrypts temporary files, too.
    statements.append(f"SET temp_file_encryption = {'true' if options['encrypts_temp'] else 'false'}")
    return tuple(statements)


CRYPTO_SQL = (
    f"SELECT CASE WHEN lower(CAST(current_setting('force_mbedtls_unsafe') AS VARCHAR)) = 'true' THEN 'mbedtls'"
    f" WHEN (SELECT count(*) FROM duckdb_extensions() WHERE extension_name = '{_MODULE}' AND loaded) = 1"
    " THEN 'openssl' ELSE 'none' END"
)
"""Whose code encrypts in this process."""

OF_DATABASE = f"FROM duckdb_databases() WHERE database_name = '{CATALOG}'"
"""Has ``encrypted`` and ``cipher`` among its columns."""
