"""Loads by SQL*Loader, direct and serial: one of the user's, whose log says how long it took and what CPU time.

Nothing of a password is on a command line: it is in a parameter file that only its owner can read, until the program
has ended. Everything that this writes is in the folder of the rows.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tdelta.engines.server.dbapi import Loaded
from tdelta.measure.private import private
from tdelta.processes.dbapi import ClientError

PROGRAM = "sqlldr"
_NULL = "X'5C4E'"
r"""How a generated file has NULL: ``\N``."""

_MOST_CHARACTERS = 4000
"""The length of every field: by default 255."""

_CONTROL = """LOAD DATA CHARACTERSET AL32UTF8 INFILE '{rows}' APPEND INTO TABLE {table}
FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"'
({columns})
"""
_TIME = r"^{} time was: +(\d+):(\d\d):(\d\d(?:\.\d+)?)"
_TIMES = {name: re.compile(_TIME.format(name), re.MULTILINE) for name in ("Elapsed", "CPU")}
_REFUSED = re.compile(r"^(?:ORA|SQL\*Loader)-\d+: .*", re.MULTILINE)
_ENVIRONMENT = {"NLS_LANG": "AMERICAN_AMERICA.AL32UTF8"}
"""The log is read in English, numbers have points, and texts are UTF-8."""

_LONGEST_SECONDS = 23 * 3600.0
"""Below `tdelta.processes.answers.STEP_SECONDS`: the program does not outlive the worker that started it."""


def load(options: Mapping[str, Any], table: str, columns: Sequence[str], rows: Path) -> Loaded:
    """Load a file of rows into an empty table.

    Args:
        options: those of a connection.
        table: with its schema.

    Raises:
        ClientError: the program failed, did not end, or its log has no elapsed and CPU time.
    """
    control, log, parameters = (rows.with_suffix(suffix) for suffix in (".ctl", ".log", ".par"))
    fields = ", ".join(f"{name} CHAR({_MOST_CHARACTERS}) NULLIF {name}={_NULL}" for name in columns)
    control.write_text(_CONTROL.format(rows=rows, table=table, columns=fields), encoding="utf-8")
    given = {"userid": _user(options), "control": control, "log": log, "bad": rows.with_suffix(".bad")}
    given |= {"direct": "true", "parallel": "false", "errors": 0}
    log.unlink(missing_ok=True)
    try:
        with private(parameters) as file:
            file.write("".join(f"{name}={value}\n" for name, value in given.items()).encode())
        ended = subprocess.run(
            [PROGRAM, f"parfile={parameters}"],
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_LONGEST_SECONDS,
        )
    except subprocess.TimeoutExpired as slow:
        raise ClientError("endless", f"{PROGRAM} did not end within {slow.timeout:.0f} s") from slow
    finally:
        parameters.unlink(missing_ok=True)
    said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    found = {name: pattern.search(said) for name, pattern in _TIMES.items()}
    if ended.returncode != 0 or None in found.values():
        refused = _REFUSED.search(said + ended.stdout.decode(errors="replace"))
        why = refused[0] if refused else f"its log {log} has no elapsed and CPU time"
        raise ClientError("sql", f"{PROGRAM} ended with exit status {ended.returncode}: {why}")
    return Loaded(*(_seconds(one) for one in found.values() if one is not None))


def _user(options: Mapping[str, Any]) -> str:
    protocol = "" if options.get("tls", "disable") == "disable" else "tcps:"
    address = f"{protocol}//{options['host']}:{options['port']}/{options['database']}"
    return f'{options["user"]}/"{options["password"]}"@{address}'


def _seconds(found: re.Match[str]) -> float:
    hours, minutes, seconds = found.groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
