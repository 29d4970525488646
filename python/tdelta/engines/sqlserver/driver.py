"""SQL Server instances of users, asked by SQL alone; the statements are in ``queries.sql``.

A schema is a database, whose recovery model and checkpoints tdelta sets itself. On the encrypted instance it gets a key
by what encrypts a database there already, a certificate or a key of an external module, of that database's algorithm,
and is awaited: state 3 is encrypted. tempdb is encrypted for the whole instance then, which is why twins are two
instances.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tdelta.engines.server.base import (
    DATA,
    LOCK_SECONDS,
    MARK,
    Conversion,
    ConvertsSchemas,
    Encryption,
    Identity,
    InForce,
    LeftoverSchema,
    NewSchema,
    Probe,
    Scope,
    ServerBinary,
    SettingsRule,
    Tracing,
    leftover_schemas,
)
from tdelta.engines.server.driver import reached_only
from tdelta.engines.server.schema_actions import Change, SchemaRestore, SchemaStep
from tdelta.engines.server.sessions import Ask, Row, by_name, first, literal, one, statements
from tdelta.engines.sqlserver.profile import PROFILE
from tdelta.engines.sqlserver.worker import DRIVER, bare, named
from tdelta.errors import Defect
from tdelta.measure.space import too_small
from tdelta.messages import Caution, Refusal
from tdelta.processes.backups import EngineAction
from tdelta.processes.workers import Refused

SQL = statements("tdelta.engines.sqlserver")

# Backups of tdelta's database, and restores of them as another one; the statements are in ``queries.sql``.
#
# A backup goes to the null device, which fills nobody's disk. One that is restored is a file in the folder of
# the instance's data, by a backup device of tdelta's: with the device its file is removed.

_KIB = 1024
_UNCOMPRESSED = "none"


class _Backup(SchemaStep):
    folders: Mapping[str, str] = MappingProxyType({})
    """The instance's folders for ``data`` and ``log``, each with the separator that ends it."""

    def statements(self) -> tuple[str, ...]:
        return (self.to("DISK = N'NUL'"),)

    def counted_sql(self) -> str:
        return self.filled("backed_up")

    def to(self, device: str) -> str:
        """A copy-only backup: the chain of backups knows nothing of it."""
        asked = self.site.asked
        size, compress = asked.knobs.get("transfer"), asked.choices.get("compress", _UNCOMPRESSED)
        transfer = f", MAXTRANSFERSIZE = {size * _KIB}" if size else ""
        compression = "NO_COMPRESSION" if compress == _UNCOMPRESSED else "COMPRESSION"
        return self.filled("backup", device=device, compression=compression, transfer=transfer)

    def filled(self, statement: str, **more: str) -> str:
        schema, restored = self.site.schema.name, self.restored
        given = {"schema": schema, "restored": restored, "named": _named(schema), **self.folders}
        return SQL[statement].format(**given, **more)

    @property
    def restored(self) -> str:
        return f"{self.site.schema.name}_restored"


class _Restore(_Backup, SchemaRestore):
    def backup(self) -> tuple[str, ...]:
        server = self.site.schema.server
        with server.translated_errors():
            self.folders = {name: _folder(path or "") for name, path in one(server.ask(SQL["folders"])).items()}
        return self.filled("make_device"), self.to(f"[tdelta_backup_{self.site.schema.name}]")

    def statements(self) -> tuple[str, ...]:
        return self.filled("restore"), self.filled("answer", first_table=self.site.tables[0][0])

    def remove(self) -> tuple[str, ...]:
        return _dropped(self.restored), self.filled("drop_device")


def _folder(path: str) -> str:
    """A folder of the instance for use within N'…', ended by the separator of its system."""
    path = path.replace("'", "''")
    return path if path.endswith(("/", "\\")) else path + ("/" if "/" in path else "\\")


def _named(name: str) -> str:
    return f"N{literal(name)}"


def _dropped(database: str) -> str:
    return " ".join(SQL["drop_schema"].format(schema=database, named=_named(database)).split())


_TRANSFER = MappingProxyType({"transfer": range(64, 4097, 64)})
_COMPRESS = MappingProxyType({"compress": (_UNCOMPRESSED, "server")})
ACTIONS: Mapping[str, EngineAction] = MappingProxyType(
    {
        "backup": EngineAction(_Backup, (*_TRANSFER,), is_work=True, choices=_COMPRESS, numbers=_TRANSFER),
        "restore": EngineAction(_Restore, (*_TRANSFER,), is_work=True, choices=_COMPRESS, numbers=_TRANSFER),
        "encrypt": EngineAction(Change, ("pause",), is_during=True),
        "rekey": EngineAction(Change, is_during=True),
        "decrypt": EngineAction(Change, is_during=True),
    }
)
"""Actions on a database there. ``transfer`` is ``MAXTRANSFERSIZE`` in KiB: multiples of 64, to 4096; ``pause``
is for how many seconds the scan that encrypts is suspended."""


_UNENCRYPTED, _ENCRYPTED = "1", "3"
_OLDEST, _OLDEST_NAME = (13, 0, 4001), "SQL Server 2016 SP1"
"""With this one `sys.dm_server_services` says whether files are initialized at once."""

_SUSPENDS = 15
"""The first version whose scans can be suspended, and that has accelerated database recovery: SQL Server 2019."""

_COOLS_BY_RIGHT = 16
"""The first version that empties its buffers for a right, and not for administrators alone: SQL Server 2022."""

_BOXED = frozenset({"2", "3", "4"})
"""``EngineEdition`` of what is installed: Standard, Enterprise, Express. Others are services of Azure and of Fabric,
where databases of a server cannot be made, asked and restored like this."""

_ALGORITHMS = MappingProxyType(
    {"AES_128": "AES_128", "AES_192": "AES_192", "AES_256": "AES_256", "TRIPLE_DES_192": "TRIPLE_DES_3KEY"}
)
"""Transact-SQL's words for the algorithm and the length of keys in `sys.dm_database_encryption_keys`."""

_SESSION_SQL = ("off", "counts", "on", "rows", "text", "language", "isolation")
_OFF = ("implicit_transactions", "cursor_close_on_commit", "xact_abort", "numeric_roundabort", "arithignore")
_ON = ("ansi_nulls", "ansi_null_dflt_on", "ansi_padding", "ansi_warnings", "arithabort", "concat_null_yields_null")
_SESSION = {
    **dict.fromkeys(_OFF, "0"),
    **dict.fromkeys(("nocount", *_ON, "quoted_identifier"), "1"),
    "textsize": "2147483647",
    "language": "us_english",
    "isolation_level": "2",  # READ COMMITTED
}
"""Settings that ``user options``, a login's language or a driver may change, as ``in_force`` reads them."""

_CONTEXT_BYTES = 128
_MILLISECONDS = 1000
_PAGE_BYTES = 8192
_MEGABYTE = 1 << 20
_LEAST_FILE_MB = 64
_ROOM = 2
_SPARE = 1.3
_NEAREST = {
    "physical": (("session_reads",), "reads of the session's requests"),
    "logical": (("session_logical_reads",), "logical reads of the session's"),
    "current": (("session_writes",), "writes of the session's requests"),
}
_HELD = frozenset({"1", "t"})
_COLD = "cold"
_RIGHTS = {"state": "VIEW SERVER STATE", "makes": "CREATE ANY DATABASE", "ends": "ALTER ANY CONNECTION"}
_RULE = SettingsRule(
    r"default language|.*full-text.*|remote .*|Database Mail.*|SMO and DMO XPs|Agent XPs|xp_.*",
    r"max server memory.*|min server memory.*|memory kB|CPUs",
    r"instant file initialization: .*|new databases: .*|files of tempdb|trace flag .*",
    r"max degree of parallelism|cost threshold for parallelism|max worker threads|affinity.*",
    r"backup compression default|recovery interval.*|lightweight pooling|priority boost|optimize for ad hoc.*",
)


@dataclass(frozen=True, slots=True)
class Encryptor:
    """The newest of ``known`` encryptors of databases there.

    ``name`` is that of a server certificate or of an asymmetric key of an external module, as ``kind`` says; empty
    where this login may not see it. ``algorithm`` is that of a database that it encrypts.
    """

    kind: str
    name: str
    thumbprint: str
    algorithm: str
    known: int = 1

    @property
    def within_text(self) -> str:
        """The words for it in Transact-SQL within N'…'."""
        return f"{self.kind} [{self.name.replace(']', ']]')}]".replace("'", "''")

    @property
    def said(self) -> str:
        single = "a certificate" if self.kind == "CERTIFICATE" else "an asymmetric key"
        newest = f"the newest of {self.known} encryptors" if self.known > 1 else single
        return f"{newest} encrypts databases, {self.algorithm}"


class SqlServer(ConvertsSchemas):
    """SQL Server instances of users. Databases of tdelta's are in no availability group, so that any can be a twin.

    Args:
        encryptor: the one of databases there; None where none is encrypted.
    """

    profile = PROFILE
    rule = _RULE
    schema_actions = ACTIONS
    session_sql: tuple[str, ...] = tuple(SQL[f"session_{name}"] for name in _SESSION_SQL)
    in_force = InForce(SQL["in_force"], _SESSION)
    long_sql: str = SQL["long"]
    census: tuple[str, ...] = (SQL["census"],)
    waiting_sql: tuple[str, ...] = (SQL["hurry"].format(milliseconds=LOCK_SECONDS * _MILLISECONDS),)
    counters: tuple[str, ...] = (SQL["counters"], SQL["statements"], SQL["own_session"])
    executed_sql: str = SQL["executed"]
    cpu_sql: str = SQL["cpu"]
    tracing = Tracing("", (SQL["traced"],), _NEAREST, SQL["session"], SQL["traced_statements"])
    """CPU time by the account of the statements' plans, in microseconds; a session's own is in milliseconds."""

    cooling_sql: tuple[str, ...] = (SQL["checkpoint"], SQL["drop_clean"])

    def __init__(self, origin: ServerBinary | Identity, encryptor: Encryptor | None) -> None:
        super().__init__(origin)
        self._encryptor = encryptor

    def quoted(self, name: str) -> str:
        return "[" + name.replace("]", "]]") + "]"

    def schema_faults(self, ask: Ask, schemas: Sequence[str], data_bytes: int) -> Iterator[Refusal]:
        """Too little room for the files of all schemas, as if their logs were on the volume of their data."""
        found = ask(SQL["room"])
        needed, free = round(_SPARE * 2 * _ROOM * data_bytes * len(schemas)), int(first(found) or 0)
        if found and free < needed:
            yield too_small("the instance's folder for data", free, needed, "or use a smaller --size")

    def disturbances(self, ask: Ask, option: str) -> tuple[Caution, ...]:
        others = int(first(ask(SQL["others"])) or 0)
        return (Caution.of("other-sessions", sessions=others).at(option),) if others else ()

    def missing_grants(self, ask: Ask) -> tuple[str, ...]:
        held, user, encryptor = one(ask(SQL["rights"])), self.quoted(self.identity.user), self._encryptor
        if held["administers"] in _HELD:
            return ()
        lacking = [right for column, right in _RIGHTS.items() if held[column] not in _HELD]
        grants = [f"GRANT {', '.join(lacking)} TO {user}"] if lacking else []
        if encryptor is not None and not encryptor.name:
            seen = f"{encryptor.kind}::NAME TO {user} (NAME is that of the thumbprint {encryptor.thumbprint})"
            grants.append(f"USE master; GRANT VIEW DEFINITION ON {seen}")
        return tuple(grants)

    def missing_work_grants(self, ask: Ask, works: Collection[str]) -> tuple[str, ...]:
        """Rights that only some trials need; one for backups and cold caches may take the membership in a role."""
        held, user = one(ask(SQL["rights"])), self.quoted(self.identity.user)
        has_backups = not {"backup", "restore"}.isdisjoint(works)
        role = "ALTER SERVER ROLE {} ADD MEMBER " + user
        cools = role.format("sysadmin") if self._major < _COOLS_BY_RIGHT else f"GRANT ALTER SERVER STATE TO {user}"
        can_cool = self._major >= _COOLS_BY_RIGHT and held["alters"] in _HELD
        wanted = {
            cools: _COLD in works and not can_cool,
            role.format("diskadmin"): "restore" in works and held["devices"] not in _HELD,
            f"USE msdb; GRANT SELECT ON dbo.backupset TO {user}": has_backups and held["history"] not in _HELD,
        }
        return () if held["administers"] in _HELD else tuple(grant for grant, is_needed in wanted.items() if is_needed)

    def encryption(self, ask: Ask) -> Encryption:
        """Whether something encrypts a database there, with the algorithm read back; and tempdb."""
        found = self._encryptor
        by = "no database is encrypted" if found is None else found.said
        temp = first(ask(SQL["tempdb"]))
        return Encryption(
            (
                Scope(DATA, False, f"new databases are plain until they get a key; {by}"),
                Scope("temp", temp == _ENCRYPTED, f"tempdb encryption_state={temp or 'none'}"),
            ),
            can_be_asked=found is not None,
            remedy="CREATE MASTER KEY and CREATE CERTIFICATE in master, and encrypt a database by it",
        )

    def settings(self, ask: Ask) -> Mapping[str, str]:
        """All configuration in use, what new databases are like, trace flags, and what the machine has."""
        queries = ("settings", "model", "recovery") if self._major >= _SUSPENDS else ("settings", "model")
        found = {name: value for query in queries for name, value in by_name(ask(SQL[query]), "value").items()}
        found |= {f"trace flag {row['traceflag']}": row["status"] or "" for row in ask(SQL["flags"])}
        for row in ask(SQL["services"]):
            found[f"instant file initialization: {(row['name'] or '').split(' (')[0]}"] = row["value"] or ""
        machine = one(ask(SQL["machine"]))
        return found | {"CPUs": machine["cpus"] or "", "memory kB": machine["kilobytes"] or ""}

    def probe(self, name: str) -> Probe:
        return Probe(*(SQL[of].format(lock=_named(name)) for of in ("lock_take", "lock_seen", "lock_release")))

    def has_schema(self, ask: Ask, schema: str) -> bool:
        return bool(ask(SQL["has_schema"].format(schema=_named(schema))))

    def make_sql(self, schema: NewSchema) -> tuple[str, ...]:
        """Statements that make the database, mark it, encrypt it and wait until it is encrypted."""
        given = {"schema": schema.name, "mark": _named(MARK + schema.run_id), "level": 10 * self._major}
        made = tuple(SQL[name].format(**given) for name in ("make_schema", "write_mark", "options", "level"))
        if not schema.is_encrypted or self._encryptor is None:
            return made
        awaited = self._await_sql(schema.name, "encryption_state <> 3", "encryption_scan_state IN (2, 3)")
        return (*made, self.key_sql(schema.name), SQL["encrypt"].format(schema=schema.name), awaited)

    def _await_sql(self, schema: str, unfinished: str, stopped: str = "") -> str:
        """The statements that wait for the end of a scan, an hour at most.

        Args:
            unfinished: the condition of a scan that goes on.
            stopped: that of one that does not, where this version knows it. With it, a scan without an end is an error
                that has its state; otherwise only the wait ends.
        """
        knows = self._can_suspend
        scan = ", ', encryption_scan_state=', encryption_scan_state" if knows else ""
        at_limit = "THROW 50000, @said, 1" if stopped else "BREAK"
        given = {"unfinished": unfinished, "stopped": stopped if stopped and knows else "1 = 0", "scan": scan}
        given["at_limit"] = at_limit
        return " ".join(SQL["await_scan"].format(named=_named(schema), **given).split())

    def own_schemas(self, ask: Ask, *named: str) -> tuple[LeftoverSchema, ...]:
        """Databases with tdelta's mark, which is looked for only where the name says that it may be there."""
        asked = SQL["databases"].format(named=", ".join(map(_named, named or ("",))))
        names = [row["name"] or "" for row in ask(asked)]
        return leftover_schemas(
            {name: first(ask(SQL["mark"].format(schema=name.replace("]", "]]")))) for name in names}
        )

    def drop_sql(self, schema: str) -> str:
        """The statements that end the sessions in the database and remove it, once no scan forbids that.

        A scan that was aborted does not go on: whether it forbids it, the removal says.
        """
        going_on = "encryption_state IN (2, 4, 5)"
        if not self._can_suspend:
            return f"{self._await_sql(schema, going_on)}; {_dropped(schema)}"
        resume = SQL["resume_left"].format(schema=schema, named=_named(schema))
        awaited = self._await_sql(schema, f"{going_on} AND encryption_scan_state <> 3")
        return f"{resume}; {awaited}; {_dropped(schema)}"

    def tables(self, ask: Ask, schema: str) -> Mapping[str, bool | None]:
        """By the state of the database's encryption; None where it is of another algorithm than was asked for."""
        rows = ask(SQL["tables"].format(schema=schema, named=_named(schema)))
        return {row["name"] or "": self._is_encrypted(row) for row in rows}

    def _is_encrypted(self, row: Row) -> bool | None:
        if row["state"] != _ENCRYPTED:
            return False
        return True if self._encryptor is None or _algorithm(row) == self._encryptor.algorithm else None

    def key_sql(self, schema: str) -> str:
        """A key by what encrypts databases there, of their algorithm."""
        if self._encryptor is None:
            raise Defect("a key was asked of a server where nothing encrypts databases")
        key = {"algorithm": self._encryptor.algorithm, "encryptor": self._encryptor.within_text}
        return SQL["make_key"].format(schema=schema, **key)

    def rekey_sql(self, schema: str) -> str:
        """Another key of the same algorithm; the server encrypts all pages with it, in the background."""
        if self._encryptor is None:
            raise Defect("another key was asked of a server where nothing encrypts databases")
        return SQL["rekey"].format(schema=schema, algorithm=self._encryptor.algorithm)

    def unkey_sql(self, schema: str) -> tuple[str, ...]:
        """The log is cut first, so that nothing which was written with the key is in its active part."""
        given = {"schema": schema, "named": _named(schema)}
        return tuple(SQL[name].format(**given) for name in ("checkpoint_schema", "drop_key"))

    def convert_sql(self, schema: str, *, is_encrypted: bool) -> str:
        return SQL["encrypt" if is_encrypted else "decrypt"].format(schema=schema)

    def suspend_sql(self, schema: str) -> str:
        return SQL["suspend"].format(schema=schema) if self._can_suspend else ""

    def resume_sql(self, schema: str) -> str:
        return SQL["resume"].format(schema=schema)

    @property
    def _major(self) -> int:
        return _version(self.identity.version)[0]

    @property
    def _can_suspend(self) -> bool:
        return self._major >= _SUSPENDS

    def conversion(self, ask: Ask, schema: str) -> Conversion:
        """By ``encryption_state``, with how far it is; encrypted by another algorithm is neither."""
        given = {"named": _named(schema)}
        rows = ask(SQL["conversion"].format(**given))
        if not rows:
            return Conversion(is_encrypted=False, said="no key")
        row = rows[0]
        said = f"encryption_state={row['state']}, percent_complete={row['percent_done']}, {_algorithm(row)}"
        if self._can_suspend:
            said += f", encryption_scan_state={first(ask(SQL['scan'].format(**given))) or 'none'}"
        states = {_UNENCRYPTED: False, _ENCRYPTED: self._is_encrypted(row)}
        is_encrypted = states.get(row["state"] or "")
        return Conversion(is_encrypted, said, float(row["percent_done"] or 0), key=row["regenerated"] or "")

    def presize_sql(self, schema: str, data_bytes: int) -> tuple[str, ...]:
        """Files with room for all that a run writes: twice the data, and as much log, so that neither has to grow."""
        megabytes = max(_LEAST_FILE_MB, -(-_ROOM * data_bytes // _MEGABYTE))
        size = {"megabytes": megabytes, "pages": megabytes * _MEGABYTE // _PAGE_BYTES}
        return tuple(SQL["presize"].format(schema=schema, file=file, **size) for file in (schema, f"{schema}_log"))

    def plan_hashes(self, ask: Ask, schema: str, scripts: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """The ``query_plan_hash`` of every plan that the server remembers of a transaction's statements, by name."""
        known: dict[str, set[str]] = {}
        for row in ask(SQL["plans"].format(named=_named(schema))):
            known.setdefault(bare(row["text"] or ""), set()).add(row["plan_hash"] or "")
        return {name: sorted(known[text]) for name, text in named(scripts) if text in known}

    def indexes_sql(self, schema: str) -> str:
        return SQL["indexes"].format(schema=schema)

    def statistics_sql(self, tables: Iterable[str]) -> tuple[str, ...]:
        return tuple(SQL["statistics"].format(table=table) for table in tables)

    def data_bytes_sql(self, schema: str) -> str:
        return SQL["data_bytes"].format(schema=schema)

    def parallel_sql(self, cpus: int) -> str:
        return SQL["parallel"].format(cpus=cpus)

    def mark_session_sql(self, mark: str) -> str:
        return SQL["mark_session"].format(mark=_hex(mark))

    def marked_sessions(self, ask: Ask, mark: str) -> tuple[str, ...]:
        written = _hex(mark)
        rows = ask(SQL["marked_sessions"].format(mark=written, length=len(written) // 2))
        return tuple(row["id"] or "" for row in rows)

    def end_session_sql(self, session: str) -> str:
        return SQL["end_session"].format(session=int(session))

    def hurry_sql(self, seconds: int) -> str:
        return SQL["hurry"].format(milliseconds=seconds * _MILLISECONDS)

    @classmethod
    def answering(cls, ask: Ask) -> SqlServer:
        found = one(ask(SQL["identity"]))
        product = f"{PROFILE.product} {found['edition'] or ''}".strip()
        version, who, machine = (found[name] or "" for name in ("version", "who", "machine"))
        if found["engine"] not in _BOXED or _version(version) < _OLDEST:
            expected = f"{_OLDEST_NAME} or later, installed on a machine or in a container"
            raise Refused("protocol", Refusal.of("unexpected", expected=expected, found=f"{product} {version}"))
        keys = [
            Encryptor(row["kind"] or "", row["name"] or "", row["thumbprint"] or "", _algorithm(row))
            for row in ask(SQL["encryptor"])
        ]
        encryptor = replace(keys[0], known=len(dict.fromkeys(keys))) if keys else None
        return cls(Identity(PROFILE.name, product, version, who, machine), encryptor)


def _algorithm(row: Row) -> str:
    found = f"{row['algorithm']}_{row['length']}"
    return _ALGORITHMS.get(found, found)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in text.split("."))


def _hex(mark: str) -> str:
    return mark.encode()[:_CONTEXT_BYTES].hex()


SERVER = SqlServer
driver, listed = reached_only(PROFILE, DRIVER)
