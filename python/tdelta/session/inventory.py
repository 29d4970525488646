"""The inventory of a fleet: which databases and studies it measures. Read with all faults at once, each with its line.

Its keys are those of the project file, once for all targets, and in ``[target.NAME]`` for one, which go before; with
``study``, and ``server``, the machines that no two runs may use at a time. Those of DSNs are among them anyway.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.engines.server.dsn import parse_dsn
from tdelta.errors import InventoryError, UsageError
from tdelta.inputs import unexpected
from tdelta.messages import Refusal
from tdelta.records.kept import label_fault
from tdelta.session.project import KEYS, ProjectReader, checked, read_value
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.workloads.faults import shown

TARGET = "target"
_AT_ONCE = "at-once"
_TIME, _MAX_TIME = "time", "max-time"
_OF_THE_FLEET = ("ray", "store")
_OF_A_CLUSTER = ("agents", "hosts")
_OPTIONS = {key: option for key, option in KEYS.items() if key not in (*_OF_THE_FLEET, *_OF_A_CLUSTER)}
"""A run's store is on its node, and the fleet's Ray is not for agents or hosts."""


@dataclass(frozen=True, slots=True)
class Target:
    """One run of a fleet.

    ``words`` are what `tdelta run` is called with, ``servers`` what no other run may use meanwhile.
    """

    name: str
    request: RunRequest
    words: tuple[str, ...]
    servers: frozenset[str]

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.words).encode()).hexdigest()

    def lasting(self, seconds: float) -> Target:
        option = KEYS[_MAX_TIME]
        whole = float(max(1, int(seconds)))
        words = (*self.words, *option.words(whole))
        return Target(self.name, self.request.replace(**{option.name: whole}), words, self.servers)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The content of an inventory.

    ``at_once`` is the most runs at a time, None: as many as there are nodes. ``seconds`` are for all runs together, to
    be shared among them; None: each has its own.
    """

    path: Path
    targets: tuple[Target, ...]
    at_once: int | None
    seconds: float | None = None


def read_inventory(path: Path) -> Inventory:
    reader = _Reader(path)
    found = reader.inventory()
    if found is None or reader.faults:
        raise InventoryError(str(path), reader.faults.refusals())
    return found


class _Reader(ProjectReader):
    def inventory(self) -> Inventory | None:
        """The content of the file; None where it is invalid TOML."""
        document = self.document()
        if document is None:
            return None
        self.unknown_keys(document, (*_OPTIONS, "study", "labels", _AT_ONCE, _TIME, TARGET))
        shared = self._values(document)
        tables = document.get(TARGET)
        if not isinstance(tables, dict) or not tables:
            self.fault(Refusal.of("missing", what="a table [target.NAME]"), TARGET)
            tables = {}
        targets = [self._target(name, table, shared) for name, table in self.entries(tables, TARGET).items()]
        seconds = self._seconds(document, tables)
        return Inventory(self.path, tuple(one for one in targets if one is not None), self._at_once(document), seconds)

    def unknown_keys(self, table: Mapping[str, object], known: Iterable[str], *path: str) -> None:
        """Faults for the keys that nobody reads, and for those of projects that a fleet does not have."""
        rest = dict(table)
        for key in (*_OF_THE_FLEET, *_OF_A_CLUSTER):
            if key in rest:
                del rest[key]
                given = {"key": ".".join((*path, key)), "option": f"--{key}"}
                is_of_fleet = key in _OF_THE_FLEET
                fault = Refusal.of("fleet-option", **given) if is_of_fleet else Refusal.of("not-in-a-fleet", **given)
                self.fault(fault, *path, key)
        super().unknown_keys(rest, known, *path)

    def _seconds(self, document: Mapping[str, object], tables: Mapping[str, object]) -> float | None:
        """The time of all runs; where it is given, none has its own."""
        if _TIME not in document:
            return None
        own = [(TARGET, name) for name, one in tables.items() if isinstance(one, dict) and _MAX_TIME in one]
        for path in [*own, *([()] if _MAX_TIME in document else [])]:
            self.fault(Refusal.of("conflict", one=_MAX_TIME, other=_TIME), *path, _MAX_TIME)
        try:
            return float(read_value(KEYS[_MAX_TIME].value, document[_TIME]))
        except ValueError as fault:
            self.fault(fault.args[0].at(_TIME), _TIME)
            return None

    def _at_once(self, document: Mapping[str, object]) -> int | None:
        found = document.get(_AT_ONCE)
        if found is not None and (isinstance(found, bool) or not isinstance(found, int) or found < 1):
            self.fault(unexpected("a whole number of at least 1", shown(found), _AT_ONCE), _AT_ONCE)
            return None
        return found

    def _values(self, table: Mapping[str, object], *path: str) -> dict[str, Any]:
        """The values of options, study and labels among them, by the names that a request has them under."""
        given = self.with_labels(table, _OPTIONS, *path)
        if "engine" in given and not self.is_known(given["engine"], "engine", *path, "engine"):
            del given["engine"]
        found = self.options(given, *path)
        if "study" in table and self.is_known(table["study"], "study", *path, "study"):
            found["study"] = table["study"]
        return found

    def _target(self, name: str, table: object, shared: Mapping[str, Any]) -> Target | None:
        at = (TARGET, name)
        if (fault := label_fault(name)) is not None:
            self.fault(fault, *at)
            return None
        if not self.is_table(table, *at):
            return None
        self.unknown_keys(table, (*_OPTIONS, "study", "labels", "server"), *at)
        before = len(self.faults.refusals())
        values = {**shared, **self._values(table, *at)}
        servers = self._servers(table, values, *at)
        if len(self.faults.refusals()) > before:
            return None
        values["labels"] = tuple(dict.fromkeys((name, *values.get("labels", ()))))
        try:
            request = checked(values)
        except UsageError as error:
            for refusal in error.refusals:
                self.fault(refusal, *at)
            return None
        return Target(name, request, _words(values, request), servers)

    def _servers(self, table: Mapping[str, object], values: Mapping[str, Any], *path: str) -> frozenset[str]:
        """The servers of the entry: those that it names, and those of its DSNs."""
        named = table.get("server", [])
        listed = named if isinstance(named, list) else [named]
        if not all(isinstance(one, str) and one and one.isprintable() for one in listed):
            self.fault(unexpected("a name, or a list of names", shown(named), "server"), *path, "server")
            return frozenset()
        dsns = [parse_dsn(values[key]) for key in ("baseline", "encrypted") if values.get(key)]
        return frozenset((*listed, *(str(dsn.host) for dsn in dsns)))


def _words(values: Mapping[str, Any], request: RunRequest) -> tuple[str, ...]:
    words: list[str] = []
    for name, option in OPTIONS.items():
        if name in values and option.flag:
            value = request.values[name]
            words += option.words((value, request.values[option.also]) if option.also else value)
    return tuple(words)
