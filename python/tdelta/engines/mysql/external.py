"""MySQL and Percona servers of users; see `tdelta.engines.shared.mysql_external`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tdelta.driver.workers import Refused
from tdelta.engines.mysql.private import STATUS, STATUS_TABLE, TRACING
from tdelta.engines.mysql.profile import PROFILE
from tdelta.engines.servers import Tracing
from tdelta.engines.shared.external.kind import DATA, Encryption, Identity, NewSchema
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
from tdelta.engines.shared.sessions import Ask, first, literal

_UNSEEN = "none that this user may see"


class MySqlServers(MySqlFamily):
    isolation_setting = "transaction_isolation"
    session_sql = (*MySqlFamily.session_sql, "SET SESSION max_execution_time = 0")

    def __init__(self, identity: Identity, *, sees_threads: bool = False) -> None:
        super().__init__(identity)
        self._sees_threads = sees_threads

    @property
    def counters(self) -> tuple[str, ...]:
        return (counters_sql(STATUS_TABLE, STATUS),)

    @property
    def tracing(self) -> Tracing:
        """By the thread that serves a connection, where this user may see it, and status counters."""
        return TRACING if self._sees_threads else replace(TRACING, thread="")

    def encryption(self, ask: Ask) -> Encryption:
        """What is encrypted, by the global variables. With a keyring, tables are where the schema asks for it."""
        variables = self.settings(ask)
        plugins = ask(
            "SELECT PLUGIN_NAME AS name FROM information_schema.PLUGINS"
            " WHERE PLUGIN_NAME LIKE 'keyring%' AND PLUGIN_STATUS = 'ACTIVE'"
        )
        component = self._component(ask)
        has_keys = component == "Active" or bool(plugins)
        keys = f"keyring: {component or (plugins[0]['name'] if plugins else _UNSEEN)}"
        has_binlog = is_on(variables, "log_bin")
        scopes = [
            scope_of(DATA, variables, ("default_table_encryption",), keys),
            scope_of("log", variables, ("innodb_redo_log_encrypt",)),
            scope_of("undo", variables, ("innodb_undo_log_encrypt",)),
            scope_of(
                "binlog", variables, ("binlog_encryption",), "" if has_binlog else "log_bin=OFF, so there is none"
            ),
        ]
        if "innodb_temp_tablespace_encrypt" in variables:  # Percona Server's
            temporary = ("innodb_temp_tablespace_encrypt", "encrypt_tmp_files", "innodb_encrypt_online_alter_logs")
            scopes.append(scope_of("temp", variables, temporary))
            scopes.append(scope_of("system", variables, ("innodb_sys_tablespace_encrypt",)))
        return Encryption(
            tuple(scopes),
            can_be_asked=has_keys,
            remedy="a keyring (component_keyring_file or another) must be active; to have it seen: GRANT SELECT ON"
            " performance_schema.keyring_component_status",
        )

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """What makes the schema, its tables encrypted or not by default, and marks it."""
        default = (
            "" if schema.is_encrypted is None else f" DEFAULT ENCRYPTION = '{'Y' if schema.is_encrypted else 'N'}'"
        )
        return (f"CREATE SCHEMA {quoted(schema.name)} CHARACTER SET utf8mb4{default}", self.mark_sql(schema))

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """By ``INNODB_TABLESPACES``."""
        spaces = ask(
            "SELECT NAME AS name, ENCRYPTION AS encryption FROM information_schema.INNODB_TABLESPACES"
            f" WHERE NAME LIKE {literal(schema + '/%')}"
        )
        return every_table(ask, schema, {table_of(row, schema): row["encryption"] == "Y" for row in spaces})

    def _component(self, ask: Ask) -> str:
        """The keyring component's state; empty before 8.0.24, and where this user may not see it."""
        seen = ask(
            "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'performance_schema'"
            " AND TABLE_NAME = 'keyring_component_status'"
        )
        state = "SELECT STATUS_VALUE FROM performance_schema.keyring_component_status WHERE STATUS_KEY = "
        return first(ask(state + literal("Component_status"))) if seen else ""

    def _grants(self, ask: Ask) -> list[str]:
        roles = first(ask("SELECT CURRENT_ROLE()"))
        using = "" if roles in ("", "NONE") else f" USING {roles}"
        return [first([row]) for row in ask(f"SHOW GRANTS FOR CURRENT_USER(){using}")]


def kind(ask: Ask) -> MySqlServers | None:
    """MySQL, if it is not MariaDB that answers."""
    found = identity_of(PROFILE.name, ask)
    return MySqlServers(found, sees_threads=_sees_threads(ask)) if found.product != MARIADB else None


def _sees_threads(ask: Ask) -> bool:
    """Whether the user may see which thread serves a connection, for which it needs a right that a run does not."""
    try:
        return bool(ask(TRACING.thread))
    except Refused as refusal:
        if refusal.kind == "connection":
            raise
    return False
