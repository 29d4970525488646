r"""MariaDB, MySQL and Percona servers of users: asked by ``SHOW`` and ``information_schema``.

Rights are read from ``SHOW GRANTS`` with the roles in force; a partial revoke (MySQL 8.0.16) is not seen, and the
server then says so itself. Names of schemas in grants are patterns: ``tdelta\_%`` covers every schema of tdelta's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tdelta.driver.workers import Refused
from tdelta.engines.shared.describing import Catalog
from tdelta.engines.shared.external.kind import (
    LOCK_SECONDS,
    MARK,
    PREFIX,
    Identity,
    InForce,
    LeftoverSchema,
    NewSchema,
    Probe,
    ReadOnly,
    SchemaSessions,
    Scope,
    SettingsRule,
)
from tdelta.engines.shared.sessions import Ask, Row, first, literal, one
from tdelta.messages import Caution, Refusal

MARIADB = "MariaDB"
MARK_TABLE = "tdelta_mark"
"""The table whose comment marks a schema: neither server can comment a schema in the statement that makes it."""

BASE_TABLES = ("BASE TABLE", "SYSTEM VERSIONED")
"""What the catalog calls tables: MariaDB those apart that keep their history."""

IS_TABLE = f"TABLE_TYPE IN ({', '.join(map(repr, BASE_TABLES))})"

_NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER")
_GRANT = re.compile(r"""GRANT (?P<rights>.+?) ON (?P<object>\*|`(?:[^`]|``)*`|"(?:[^"]|"")*")\.\* TO """, re.DOTALL)
"""Names stand in double quotes where sql_mode has ANSI_QUOTES."""
_REPLICATES = frozenset({"Slave_IO", "Slave_SQL", "Slave_worker", "Connect", "Query"})
_DAY_SECONDS = 86_400
_MARK_CHARACTERS = 43
_WHO = "SELECT CURRENT_USER()"
_ON = frozenset({"ON", "FORCE", "1", "YES"})

_LEFT_OUT = re.compile(
    r"(hostname|server_uuid|server_uid|server_id|port|socket|pid_file|basedir|datadir|.*tmpdir|.*_dir|.*_dirs?|plugin_.*"
    r"|.*_file|.*_filename|.*_file_path|.*_basename|.*_index|.*_path|bind_address|report_.*|admin_.*|mysqlx_.*"
    r"|timestamp|pseudo_.*|last_.*|insert_id|identity|rand_seed.*|error_count|warning_count|in_transaction"
    r"|gtid_.*|.*gtid.*pos|have_.*|system_time_zone|uptime|external_user|proxy_user|statement_id|lc_.*"
    r"|.*ssl.*|tls_.*|.*_public_key.*|.*_private_key.*|.*password.*|license|version_.*|log_error.*|debug.*"
    r"|.*encrypt.*|.*keyring.*|file_key_.*|hashicorp_.*|aws_key_.*|early_plugin_load|innodb_version"
    r"|wsrep_.*|.*_data_home_dir|character_sets_dir|secure_file_priv|init_file|slow_query_log_.*|general_log_.*"
    r"|innodb_buffer_pool_load_.*|innodb_.*_now|persisted_globals_load|partial_revokes)\Z"
)
_IMPORTANT = tuple(
    re.compile(pattern + r"\Z")
    for pattern in (
        r"version",
        r"innodb_buffer_pool_size",
        r"innodb_page_size",
        r"innodb_flush_log_at_trx_commit|sync_binlog|innodb_doublewrite|innodb_flush_method|innodb_use_fdatasync"
        r"|innodb_data_file_buffering|innodb_log_file_buffering",
        r"log_bin|binlog_format|binlog_row_image|binlog_.*",
        r"innodb_(log_file_size|redo_log_capacity|log_buffer_size|log_files_in_group|log_write_ahead_size)",
        r"innodb_io_capacity.*|innodb_(read|write)_io_threads|innodb_page_cleaners|innodb_purge_threads",
        r"innodb_(adaptive_.*|change_buffering|file_per_table|checksum_algorithm|compression.*|thread_concurrency)",
        r"performance_schema|thread_handling|thread_pool_size|thread_cache_size|table_open_cache.*|max_connections",
        r"query_cache_(type|size)|sort_buffer_size|join_buffer_size|tmp_table_size|max_heap_table_size",
        r"transaction_isolation|tx_isolation|sql_mode|optimizer_.*|autocommit",
        r"innodb_.*",
    )
)


_SESSION = {
    "autocommit": "1",
    "completion_type": "NO_CHAIN",
    "sql_select_limit": "18446744073709551615",
    "sql_big_selects": "1",
    "sql_safe_updates": "0",
    "default_storage_engine": "InnoDB",
    "default_tmp_storage_engine": "InnoDB",
    "time_zone": "+00:00",
}
"""What a server may have globally that would break tdelta's sessions: uncommitted loads that hold locks, answers that
are cut off, tables of engines that nothing encrypts."""

_ISOLATION = "REPEATABLE READ"


def _value(text: str) -> str:
    return text if text.isdigit() else literal(text)


class MySqlFamily:
    isolation_setting = "tx_isolation"

    rule = SettingsRule(_LEFT_OUT, _IMPORTANT)
    replication_sql: tuple[str, ...] = ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
    """What shows replication that is set up, as versions spell it, the first that the server knows."""

    replication_right = "REPLICATION CLIENT"

    session_sql: tuple[str, ...] = (
        "SET " + ", ".join(f"SESSION {name} = {_value(value)}" for name, value in _SESSION.items()),
        f"SET SESSION TRANSACTION ISOLATION LEVEL {_ISOLATION}, READ WRITE",
        f"SET SESSION wait_timeout = {_DAY_SECONDS}",
        f"SET SESSION net_write_timeout = {_DAY_SECONDS}",
    )

    waiting_sql: tuple[str, ...] = (f"SET SESSION lock_wait_timeout = {LOCK_SECONDS}",)

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    @property
    def in_force(self) -> InForce:
        wanted = {**_SESSION, self.isolation_setting: _ISOLATION.replace(" ", "-")}
        return InForce(f"SELECT {', '.join(f'@@SESSION.{name}' for name in wanted)}", wanted)

    @property
    def read_only(self) -> ReadOnly:
        setting = self.isolation_setting.replace("isolation", "read_only")
        return ReadOnly("SET SESSION TRANSACTION READ ONLY", f"@@SESSION.{setting}", "1")

    @property
    def catalog(self) -> Catalog:
        from tdelta.engines.shared.mysql_catalog import MySqlCatalog  # which needs this module

        return MySqlCatalog(analyzes=False)

    def standing_faults(self, ask: Ask) -> tuple[Refusal, ...]:
        """What makes the server as it stands no twin: a replica, read-only, part of a cluster."""
        faults = []
        sessions = ask("SHOW PROCESSLIST")
        if any(row.get("user") == "system user" and row.get("command") in _REPLICATES for row in sessions):
            faults.append(Refusal.of("server-unfit", why="it is a replica and would also run the work of its primary"))
        elif self._replicated(ask):
            faults.append(Refusal.of("server-unfit", why="it is a replica whose replication may resume at any time"))
        variables = self.settings(ask)
        if is_on(variables, "read_only") or is_on(variables, "super_read_only"):
            faults.append(Refusal.of("read-only", setting="read_only"))
        if is_on(variables, "wsrep_on") and variables.get("wsrep_cluster_address", ""):
            faults.append(Refusal.of("server-unfit", why="it is a Galera node, which replicates every change"))
        return tuple(faults)

    def cautions(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        commands = [row.get("command") or "" for row in ask("SHOW PROCESSLIST")]
        found = []
        if self._replicated(ask) is None:
            found.append(Caution.of("replication-unseen", right=self.replication_right).at(option))
        if replicas := sum(command.startswith("Binlog Dump") for command in commands):
            found.append(Caution.of("replicas-read", replicas=replicas).at(option))
        if others := sum(command in ("Query", "Execute") for command in commands) - 1:
            found.append(Caution.of("other-sessions", sessions=others).at(option))
        return tuple(found)

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        everywhere = set().union(*(rights for pattern, rights in self._held(ask) if pattern == "*"))
        if everywhere & {"PROCESS", "ALL PRIVILEGES"}:
            return ()
        return (f"GRANT PROCESS ON *.* TO {_account(first(ask(_WHO)))}",)

    def missing_schema_grants(self, ask: Ask, schema: str) -> tuple[str, ...]:
        here = set().union(*(rights for pattern, rights in self._held(ask) if _covers(pattern, schema)))
        lacking = [] if "ALL PRIVILEGES" in here else [right for right in _NEEDED if right not in here]
        if not lacking:
            return ()
        target = r"tdelta\_%" if schema.startswith(PREFIX) else schema.replace("_", r"\_")
        return (f"GRANT {', '.join(lacking)} ON `{target}`.* TO {_account(first(ask(_WHO)))}",)

    def settings(self, ask: Ask) -> Mapping[str, str]:
        return _pairs(ask("SHOW GLOBAL VARIABLES"))

    def probe(self, name: str) -> Probe:
        quoted = literal(name)
        return Probe(
            f"SELECT GET_LOCK({quoted}, 0)",
            f"SELECT IS_USED_LOCK({quoted}) IS NOT NULL",
            f"SELECT RELEASE_LOCK({quoted})",
        )

    def has_schema(self, ask: Ask, schema: str) -> bool:
        """Whether it exists; a schema on which the user has no right at all is not seen."""
        rows = ask("SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA")
        return any((row["name"] or "").lower() == schema.lower() for row in rows)

    def sessions(self, schema: NewSchema) -> SchemaSessions:
        return SchemaSessions(database=schema.name)

    def own_schemas(self, ask: Ask) -> tuple[LeftoverSchema, ...]:
        """Marked ones; and empty ones with tdelta's name, which were made but not marked."""
        marks = ask(
            "SELECT TABLE_SCHEMA AS name, TABLE_COMMENT AS mark FROM information_schema.TABLES"
            f" WHERE TABLE_NAME = {literal(MARK_TABLE)}"
        )
        marked = {
            row["name"] or "": (row["mark"] or "").removeprefix(MARK)
            for row in marks
            if (row["mark"] or "").startswith(MARK)
        }
        empty = ask(
            "SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA WHERE NOT EXISTS (SELECT 1 FROM"
            " information_schema.TABLES WHERE TABLE_SCHEMA = SCHEMA_NAME)"
        )
        named = [row["name"] or "" for row in empty if (row["name"] or "").startswith(PREFIX)]
        return (
            *(LeftoverSchema(name, run) for name, run in sorted(marked.items())),
            *(LeftoverSchema(n, None) for n in sorted(named)),
        )

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        """Of every table; without histograms, which MariaDB keeps in a schema that is not tdelta's."""
        return tuple(f"ANALYZE TABLE {quoted(table)}" for table in tables)

    def drop_tables_sql(self, tables: Sequence[str]) -> tuple[str, ...]:
        """In one statement, so that it waits for other sessions once."""
        return (f"DROP TABLE IF EXISTS {', '.join(quoted(table) for table in tables)}",)

    def data_bytes_sql(self, schema: str) -> str:
        size = "SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES"
        return f"{size} WHERE TABLE_SCHEMA = {literal(schema)}"

    def drop_sql(self, schema: str) -> str:
        return f"DROP SCHEMA {quoted(schema)}"

    def mark_sql(self, schema: NewSchema) -> str:
        return (
            f"CREATE TABLE {quoted(schema.name)}.{MARK_TABLE} (run VARCHAR(64) PRIMARY KEY)"
            f" ENGINE = InnoDB COMMENT = {literal(MARK + schema.run_id)}"
        )

    def memory_sql(self, session_bytes: int) -> tuple[str, ...]:
        """What a session runs so that more than these bytes go to files."""
        names = ("sort_buffer_size", "join_buffer_size", "tmp_table_size", "max_heap_table_size")
        return tuple(f"SET SESSION {name} = {session_bytes}" for name in names)

    def mark_session_sql(self, mark: str) -> str:
        """A lock of the session's own that is named by mark and session."""
        return f"DO GET_LOCK({_session_lock(mark, 'CONNECTION_ID()')}, 0)"

    def marked_sessions(self, ask: Ask, mark: str) -> tuple[str, ...]:
        """Those that hold the lock of their own; every user sees the sessions that are theirs."""
        rows = ask(
            "SELECT ID AS id FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID()"
            f" AND IS_USED_LOCK({_session_lock(mark, 'ID')}) = ID"
        )
        return tuple(row["id"] or "" for row in rows)

    def end_session_sql(self, session: str) -> str:
        return f"KILL {int(session)}"

    def hurry_sql(self, seconds: int) -> str:
        """What has a session wait no longer for what others do with tables and schemas."""
        return f"SET SESSION lock_wait_timeout = {seconds}"

    def _held(self, ask: Ask) -> list[tuple[str, frozenset[str]]]:
        return list(_grants(self._grants(ask)))

    def _replicated(self, ask: Ask) -> bool | None:
        """Whether replication is set up on it, running or not; None where this user may not see that."""
        for statement in self.replication_sql:
            try:
                return bool(ask(statement))
            except Refused as refusal:
                if refusal.kind == "connection":
                    raise
        return None

    def _grants(self, ask: Ask) -> list[str]:
        return [first([row]) for row in ask("SHOW GRANTS")]


def identity_of(engine: str, ask: Ask) -> Identity:
    asked = "VERSION() AS version, @@version_comment AS comment, CURRENT_USER() AS user, @@hostname AS machine"
    found = one(ask(f"SELECT {asked}"))
    text = found["version"] or ""
    version = re.match(r"[\d.]+", text)
    return Identity(
        engine=engine,
        product=_product(text, found["comment"] or ""),
        version=version[0].rstrip(".") if version else text,
        user=found["user"] or "",
        machine=found["machine"] or "",
    )


def _product(version: str, comment: str) -> str:
    if "mariadb" in version.lower():
        return MARIADB
    return "Percona Server" if "percona" in comment.lower() else "MySQL"


def _pairs(rows: Iterable[Row]) -> dict[str, str]:
    return {(row["variable_name"] or "").lower(): row["value"] or "" for row in rows}


def is_on(variables: Mapping[str, str], name: str) -> bool:
    return variables.get(name, "OFF").upper() in _ON


def scope_of(name: str, variables: Mapping[str, str], settings: tuple[str, ...], more: str = "") -> Scope:
    """A scope is encrypted if any of its settings is on; one without a file to encrypt (``log_bin=OFF``) is not."""
    known = [setting for setting in settings if setting in variables]
    said = ", ".join([*(f"{setting}={variables[setting]}" for setting in known), *([more] if more else [])])
    has_files = "so there is none" not in more
    return Scope(name, has_files and any(is_on(variables, setting) for setting in known), said)


def _grants(lines: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """What each line of ``SHOW GRANTS`` gives: the pattern of schemas and the rights."""
    for line in lines:
        if (found := _GRANT.match(line)) is not None:
            rights = frozenset(right.strip().upper() for right in found["rights"].split(","))
            mark = found["object"][0]
            yield found["object"].strip(mark).replace(2 * mark, mark) if mark != "*" else "*", rights


def _covers(pattern: str, schema: str) -> bool:
    if pattern == "*":
        return True
    wild = {"%": ".*", "_": "."}
    pieces = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    made = "".join(wild[piece] if piece in wild else re.escape(piece[-1]) for piece in pieces)
    return re.fullmatch(made, schema, re.IGNORECASE | re.DOTALL) is not None


def _account(user: str) -> str:
    name, _, host = user.rpartition("@")
    return f"'{name}'@'{host}'"


def _session_lock(mark: str, session: str) -> str:
    """The name of a session's lock, within the 64 characters that MySQL allows; ``session`` is SQL for its id."""
    return f"CONCAT({literal(mark[:_MARK_CHARACTERS])}, ' ', {session})"


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def table_of(row: Row, schema: str) -> str:
    return re.split(r"#[pP]#", (row["name"] or "").removeprefix(schema + "/"))[0]


def every_table(ask: Ask, schema: str, states: Mapping[str, bool]) -> dict[str, bool | None]:
    """The state of each table of tdelta's schema; None for one that is in no tablespace of its own."""
    rows = ask(
        "SELECT TABLE_NAME AS name FROM information_schema.TABLES"
        f" WHERE TABLE_SCHEMA = {literal(schema)} AND {IS_TABLE}"
    )
    return {name: states.get(name) for row in rows if (name := row["name"] or "")}
