"""MariaDB servers of users; see `tdelta.engines.shared.mysql_external`."""

from __future__ import annotations

from collections.abc import Mapping

from tdelta.engines.mariadb.private import STATUS, STATUS_TABLE, TRACING
from tdelta.engines.mariadb.profile import PROFILE
from tdelta.engines.servers import Tracing
from tdelta.engines.shared.external.kind import DATA, Encryption, NewSchema
from tdelta.engines.shared.mysql_external import (
    MARIADB,
    MySqlFamily,
    every_table,
    identity_of,
    is_on,
    quoted,
    scope_of,
    table_of,
)
from tdelta.engines.shared.mysql_family import counters_sql
from tdelta.engines.shared.sessions import Ask, literal


class MariaDbServers(MySqlFamily):
    replication_sql = ("SHOW ALL SLAVES STATUS",)
    replication_right = "SLAVE MONITOR"
    session_sql = (*MySqlFamily.session_sql, "SET SESSION max_statement_time = 0")

    @property
    def counters(self) -> tuple[str, ...]:
        return (counters_sql(STATUS_TABLE, STATUS),)

    @property
    def tracing(self) -> Tracing:
        return TRACING

    def encryption(self, ask: Ask) -> Encryption:
        """What is encrypted, by the global variables; a key plugin must be active for any of it."""
        variables = self.settings(ask)
        plugins = ask(
            "SELECT PLUGIN_NAME AS name FROM information_schema.PLUGINS"
            " WHERE PLUGIN_TYPE = 'ENCRYPTION' AND PLUGIN_STATUS = 'ACTIVE'"
        )
        keys = f"keys: {plugins[0]['name']}" if plugins else "no key plugin is active"
        has_binlog = is_on(variables, "log_bin")
        scopes = [
            scope_of(DATA, variables, ("innodb_encrypt_tables",), keys),
            scope_of("log", variables, ("innodb_encrypt_log",)),
            scope_of(
                "temp", variables, ("innodb_encrypt_temporary_tables", "encrypt_tmp_files", "encrypt_tmp_disk_tables")
            ),
            scope_of("binlog", variables, ("encrypt_binlog",), "" if has_binlog else "log_bin=OFF, so there is none"),
            scope_of("aria", variables, ("aria_encrypt_tables",)),
        ]
        return Encryption(
            tuple(scopes),
            can_be_asked=False,
            remedy="SET GLOBAL innodb_encrypt_tables = ON, with a key plugin (file_key_management)",
        )

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """What makes the schema and marks it; new tables are as `innodb_encrypt_tables` says."""
        return (f"CREATE SCHEMA {quoted(schema.name)} CHARACTER SET utf8mb4", self.mark_sql(schema))

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """By ``INNODB_TABLESPACES_ENCRYPTION``: a tablespace that is not in it has no encryption header at all."""
        of_schema = f"WHERE NAME LIKE {literal(schema + '/%')}"
        spaces = ask(f"SELECT NAME AS name FROM information_schema.INNODB_SYS_TABLESPACES {of_schema}")
        headers = ask(
            "SELECT NAME AS name, ENCRYPTION_SCHEME AS scheme, MIN_KEY_VERSION AS version"
            f" FROM information_schema.INNODB_TABLESPACES_ENCRYPTION {of_schema}"
        )
        states = {table_of(row, schema): False for row in spaces}
        states |= {table_of(row, schema): row["scheme"] == "1" and row["version"] != "0" for row in headers}
        return every_table(ask, schema, states)


def kind(ask: Ask) -> MariaDbServers | None:
    """MariaDB, if it is that which answers."""
    found = identity_of(PROFILE.name, ask)
    return MariaDbServers(found) if found.product == MARIADB else None
