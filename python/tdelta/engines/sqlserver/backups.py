"""Backups of tdelta's database, and restores of them as another one; the statements are in ``queries.sql``.

A backup goes to the null device, which fills nobody's disk. One that is restored is a file in the folder of the
instance's data, by a backup device of tdelta's: with the device its file is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tdelta.design.actions import AskedAction
from tdelta.engines.shared.external.kind import SqlAction, SqlRestore
from tdelta.engines.shared.sessions import literal
from tdelta.engines.shared.statements import statements

SQL = statements("tdelta.engines.sqlserver")
_KIB = 1024
_UNCOMPRESSED = "none"


def _restored(schema: str) -> str:
    return f"{schema}_restored"


def _given(schema: str) -> dict[str, str]:
    restored = _restored(schema)
    names = {"schema": schema, "restored": restored}
    return {**names, "named": f"N{literal(schema)}", "restored_named": f"N{literal(restored)}"}


def _to(schema: str, asked: AskedAction, device: str) -> str:
    """A copy-only backup: the chain of backups knows nothing of it."""
    size = asked.knobs.get("transfer")
    transfer = f", MAXTRANSFERSIZE = {size * _KIB}" if size else ""
    compression = "NO_COMPRESSION" if asked.choices.get("compress", _UNCOMPRESSED) == _UNCOMPRESSED else "COMPRESSION"
    return SQL["backup"].format(schema=schema, device=device, compression=compression, transfer=transfer)


def _backup_sql(schema: str, asked: AskedAction) -> tuple[str, ...]:
    return (_to(schema, asked, "DISK = N'NUL'"),)


def _backup_to_restore(schema: str, asked: AskedAction) -> tuple[str, ...]:
    return SQL["make_device"].format(**_given(schema)), _to(schema, asked, f"[{schema}]")


def _restore_sql(schema: str, _asked: AskedAction) -> tuple[str, ...]:
    return (SQL["restore"].format(**_given(schema)),)


def _remove(schema: str) -> tuple[str, ...]:
    return tuple(SQL[name].format(**_given(schema)) for name in ("drop_restored", "drop_device"))


def _counted(schema: str) -> str:
    return SQL["backed_up"].format(**_given(schema))


_KNOBS = MappingProxyType({"compress": (_UNCOMPRESSED, "server"), "transfer": ()})
_NUMBERS = MappingProxyType({"transfer": range(64, 4097, 64)})

ACTIONS: Mapping[str, SqlAction] = MappingProxyType(
    {
        "backup": SqlAction(knobs=_KNOBS, numbers=_NUMBERS, sql=_backup_sql, counted=_counted),
        "restore": SqlAction(
            knobs=_KNOBS,
            numbers=_NUMBERS,
            sql=_restore_sql,
            counted=_counted,
            restore=SqlRestore(
                name=_restored,
                backup=_backup_to_restore,
                answer=lambda restored, table: SQL["answer"].format(restored=restored, first_table=table),
                remove=_remove,
            ),
        ),
    }
)
"""What can be done to a database there. ``transfer`` is ``MAXTRANSFERSIZE`` in KiB: multiples of 64, to 4096."""
