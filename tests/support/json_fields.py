"""The tables of docs/json.md, from the types of the records that its documents are made of.

Names, order and types are derived as the documents' own are (`tdelta.report.values`), but for what a document says of
no record, which is declared here by its name and type. The words are kept where the page has some; in the table of
findings they point to the first place of a record that is in several. ``TDELTA_UPDATE_GOLDEN=1`` writes the page anew.
"""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from tdelta.engines.profile import EngineInfo
from tdelta.evidence.reading import FileReading
from tdelta.inference.simulated import Held
from tdelta.measure.floor import Floor
from tdelta.messages import Caution, Message, Reason, Refusal
from tdelta.records import (
    FINDINGS,
    AnalysisResult,
    CalibrationUsed,
    Comparison,
    Condition,
    Counts,
    DatabaseFacts,
    Decision,
    DetectableEffect,
    Estimate,
    FileEvidence,
    LoopFacts,
    MachineCalibration,
    NoiseFloor,
    SettingDifference,
    Validity,
    Verdict,
)
from tdelta.records.contracts import Contract, ContractStep
from tdelta.records.history import AgainstRun, History
from tdelta.records.parts import prefix_of
from tdelta.session.outlook import DryRun

BEGIN, END = "<!-- findings: generated -->\n", "<!-- end -->"
HEAD = "| field | type | what it is |\n|---|---|---|\n"
_TABLE = re.compile(r"^\| field \|.*\n\|---.*\n((?:\|.*\n)*)", re.MULTILINE)
_ROW = re.compile(r"^\| `([^`]+)` \| (?:[^|\n]* \| )?((?:[^|\n]|\\\|)*) \|$", re.MULTILINE)
_SCALARS: Mapping[type, str] = {
    float: "number",
    int: "whole number",
    bool: "true or false",
    str: "text",
    Path: "text",
}

Field = tuple[str, str, "type | None"]
"""A path, the words for its type, and the record that its value or each item is; None where it is none."""

Hints = Mapping[str, Any]
"""Types by name: of a document, or of an object in it that is no record; a list of one of these is a list of such."""

_TEXTS = tuple[str, ...]
_CAUTIONS: Hints = {"cautions": _TEXTS, "caution_codes": tuple[Caution, ...]}
_AGAINST: Hints = {"against_trust": _TEXTS}
_LEFT_OUT: Hints = {"left_out": _TEXTS, "left_out_codes": tuple[Message, ...]}
_SCOPE: Hints = {"name": str, "reported_value": str, "is_encrypted": bool}
_SERVER: Hints = {
    **dict.fromkeys(("option", "where", "product", "version", "connection"), str),
    "scopes": [_SCOPE],
    "has_cpu_time": bool,
}
_EXTERNAL_SERVERS: Hints = {
    "servers": [_SERVER],
    "schema": str,
    "assumed": bool,
    "differences": tuple[SettingDifference, ...],
}
_STORED_RUN: Hints = {
    "run_id": str,
    "created_unix_seconds": float,
    "kind": str,
    "status": str,
    "at_work": bool,
    **dict.fromkeys(("study", "engine", "workload"), str),
    "labels": _TEXTS,
    "note": str,
    "decision": Decision | None,
    "ratios": tuple[float, ...],
    "trials": int,
    "size_bytes": int,
}
_DAMAGED: Hints = {"run_id": str, "fault": str}
_SETTINGS: Hints = {
    **dict.fromkeys(("study", "engine", "workload"), str),
    "conditions": [{"role": str, "stratum": int, "levels": Condition}],
    "rope": float,
    "budget": float | None,
    "metric": str,
    "database": DatabaseFacts | None,
    "external_servers": (_EXTERNAL_SERVERS, None),
    "calibration": CalibrationUsed | None,
    "options": Mapping[str, object],
    "repeat": str,
}

DOCUMENTS: Mapping[str, tuple[type | Hints, ...]] = {
    "tdelta.run/1": (
        {"schema": str, "run_id": str, "seed": int, "decision": Decision, "exit_code": int},
        {"sentence": str, "answer": str, "subject": str},
        {"verdicts": tuple[Verdict, ...], "noise_floor": tuple[NoiseFloor, ...], "simulated_coverage": Held | None},
        {"ciphers_in_force": Mapping[str, str], "barely_encrypted": Mapping[str, float], "overridden": _TEXTS},
        LoopFacts,
        {"validity": tuple[Validity, ...], **_CAUTIONS, **_AGAINST},
        {"counts": Counts, "stopped_by": str, "interrupted": bool, "settings": _SETTINGS},
        {"machine": Mapping[str, object], "versions": Mapping[str, str]},
    ),
    "tdelta.verify/1": (
        {"schema": str, "exit_code": int, "path": str | None, "run_id": str | None, "answer": str},
        {"markers": [{"text": str, "searched": [{"encoding": str, "hex": str}]}], "files": tuple[FileReading, ...]},
        {"evidence": tuple[FileEvidence, ...], "validity": tuple[Validity, ...], "limits": _TEXTS},
    ),
    "tdelta.dry-run/1": (
        {"schema": str},
        DryRun,
        {"faults": _TEXTS, "refusals": tuple[Refusal, ...], **_CAUTIONS},
    ),
    "tdelta.engines/1": ({"schema": str, "engines": tuple[EngineInfo, ...]},),
    "tdelta.project/1": (
        {
            "schema": str,
            "project": str,
            "exit_code": int,
            "runs": [
                {"study": str | None, "engine": str, "run": ({}, None), "error": ({}, None), "exit_code": int},
            ],
        },
    ),
    "tdelta.fleet/1": (
        {
            "schema": str,
            "inventory": str,
            "exit_code": int,
            "rows": [
                dict.fromkeys(("target", "node", "run_id"), str)
                | {"exit_code": int}
                | dict.fromkeys(("engine", "study", "workload", "condition", "metric", "decision"), str | None)
                | dict.fromkeys(("ratio", "hdi95_low", "hdi95_high"), float | None)
                | {"fault": str | None},
            ],
        },
    ),
    "tdelta.runs/1": (
        {
            "schema": str,
            "store": str,
            "runs": [_STORED_RUN],
            "aside": {"pilot": int, "calibration": int, "opened": int},
            "damaged": [_DAMAGED],
        },
    ),
    "tdelta.runs-removed/1": ({"schema": str, "removed": bool, "compacted": bool, "runs": [{}], "damaged": [{}]},),
    "tdelta.studies/2": (
        {"schema": str},
        {
            "studies": [
                dict.fromkeys(("name", "title", "published"), str)
                | {"runs": bool, "command": str, "note": str, "tables": _TEXTS, "external_servers": _TEXTS}
            ]
        },
    ),
    "tdelta.analysis/1": (
        {"schema": str, "exit_code": int, "sentence": str, "answer": str},
        AnalysisResult,
        _CAUTIONS,
        _AGAINST,
        _LEFT_OUT,
    ),
    "tdelta.floor/1": ({"schema": str}, Floor, _CAUTIONS),
    "tdelta.calibration/1": (
        {"schema": str, "exit_code": int, "is_sound": bool},
        MachineCalibration,
        {"faults": _TEXTS, "fault_codes": tuple[Reason, ...], **_CAUTIONS},
    ),
    "against": (
        {
            **dict.fromkeys(("run_id", "earlier_id"), str),
            "rope": float,
            "conditions": tuple[AgainstRun, ...],
            "differing": [dict.fromkeys(("name", "earlier", "later"), str)],
        },
    ),
    "tdelta.history/1": ({"schema": str}, History),
    "tdelta.contract/1": ({"schema": str, "exit_code": int, "is_held": bool}, Contract),
    "tdelta.error/1": ({"schema": str, "exit_code": int, "text": str, "refusals": tuple[Refusal, ...]},),
}

_BESIDE: Mapping[type, Hints] = {
    Verdict: {
        "ratio_of_means": Estimate | None,
        "reasons": _TEXTS,
        "reason_codes": tuple[Reason, ...],
    },
    NoiseFloor: {"twins": str, "baseline": Condition | None},
    EngineInfo: {"aes_instructions": _TEXTS},
    ContractStep: {"reasons": [{"code": str, "text": str}]},
    MachineCalibration: {"key": Mapping[str, object]},
    Comparison: {
        "levels": Mapping[str, object],
        "reasons": _TEXTS,
        "reason_codes": tuple[Reason, ...],
        "tail_reason": str,
        "tail_reason_code": Reason | None,
        "undecided_because": str,
        "undecided_because_codes": tuple[Reason, ...],
    },
    CalibrationUsed: {"instance_effect": [{"metric": str, "median": float, "log_sd": float, "vague_share": float}]},
    DetectableEffect: {"mde_vs_rope": float | None, "mde_vs_zero": float | None},
}
"""What documents have of a record otherwise than by its fields."""

_NOT_SHOWN: Mapping[type, frozenset[str]] = {Verdict: frozenset({"ratio"})}


def generated(page: str) -> str:
    """The page with its tables written anew."""
    for schema, parts in DOCUMENTS.items():
        hints: dict[str, Any] = {}
        for part in parts:
            hints |= part if isinstance(part, Mapping) else {name: hint for name, (hint, _) in _shown(part).items()}
        table = _TABLE.search(page, page.index(f"## `{schema}`"))
        assert table is not None
        page = f"{page[: table.start()]}{HEAD}{_written(hints, table[1])}{page[table.end() :]}"
    before, _, rest = page.partition(BEGIN)
    old, _, after = rest.partition(END)
    return f"{before}{BEGIN}{HEAD}{''.join(_findings(dict(_ROW.findall(old))))}{END}{after}"


def _written(hints: Hints, old: str) -> str:
    """The rows of a document; a field that is new has no words."""
    words = dict(_ROW.findall(old))
    return "".join(f"| `{path}` | {typed} | {words.get(path, '')} |\n" for path, typed, _ in _of_hints(hints, ""))


def _findings(words: Mapping[str, str]) -> Iterator[str]:
    first: dict[type, str] = {}
    shipped = {name: kind for name, kind in FINDINGS.items() if kind.__module__.startswith("tdelta.")}
    for name, kind in shipped.items():
        yield f"| `{name}` | {'object or null' if kind.IS_SINGLE else 'list'} | {words.get(name, '')} |\n"
        for path, typed, record in fields(kind, name if kind.IS_SINGLE else f"{name}[]"):
            parent = path.rpartition(".")[0]
            seen = first.setdefault(record, parent) if record else parent
            yield f"| `{path}` | {typed} | {words.get(path) or (f'as under `{seen}`' if seen != parent else '')} |\n"


def _of_hints(hints: Hints, at: str) -> Iterator[Field]:
    for name, hint in hints.items():
        typed, marks, inside = _typed(hint)
        yield f"{at}{name}", typed, None
        yield from _inside(inside, f"{at}{name}{marks}", None)


def fields(kind: type, at: str, names: Mapping[str, str] | None = None) -> Iterator[Field]:
    for name, (hint, inside) in _shown(kind, names).items():
        typed, marks, below = _typed(hint)
        yield f"{at}.{name}", typed, kind
        yield from _inside(below, f"{at}.{name}{marks}", inside)


def _inside(below: type | Hints | None, at: str, names: Mapping[str, str] | None) -> Iterator[Field]:
    if isinstance(below, Mapping):
        yield from _of_hints(below, f"{at}.")
    elif below is not None:
        yield from fields(below, at, names)


def _shown(kind: type, names: Mapping[str, str] | None = None) -> dict[str, tuple[Any, Mapping[str, str] | None]]:
    """What documents have of a record: type, and what fields of records in it are called, by name."""
    hints = typing.get_type_hints(kind)
    shown: dict[str, tuple[Any, Mapping[str, str] | None]] = {}
    for field in dataclasses.fields(kind):
        if (prefix := prefix_of(field)) is not None:
            shown |= {f"{prefix}{name}": of for name, of in _shown(hints[field.name]).items()}
            continue
        name = (names or {}).get(field.name, field.metadata.get("json", field.name))
        if name:
            shown[name] = (hints[field.name], field.metadata.get("inside"))
    for name in getattr(kind, "DERIVED", ()):
        shown[name] = (typing.get_type_hints(getattr(kind, name).fget)["return"], None)
    shown |= {name: (hint, None) for name, hint in _BESIDE.get(kind, {}).items()}
    return {name: of for name, of in shown.items() if name not in _NOT_SHOWN.get(kind, ())}


def _typed(hint: Any) -> tuple[str, str, type | Hints | None]:
    """A type in words, what a path goes on with, and the record or object that is there."""
    match hint:
        case Mapping():
            return "object", "", hint
        case (inner, None):
            return f"{_typed(inner)[0]} or null", "", inner
        case [inner]:
            return "list of objects", "[]", inner
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [kind for kind in arguments if kind is not types.NoneType]
        typed, marks, record = _typed(kinds[0])
        return f"{typed}{' or null' if len(kinds) < len(arguments) else ''}", marks, record
    match typing.get_origin(hint) or hint:
        case origin if origin is tuple and arguments[-1] is not Ellipsis:
            return f"`[{', '.join(_typed(one)[0] for one in arguments)}]`", "", None
        case origin if origin in (tuple, list):
            typed, marks, record = _typed(arguments[0])
            return f"list of {'objects' if typed == 'object' else typed}", f"[]{marks}", record
        case kind if kind is Condition:
            return "levels by factor", "", None
        case type() as kind if dataclasses.is_dataclass(kind):
            return "object", "", kind
        case kind if isinstance(kind, type) and issubclass(kind, StrEnum):
            return "text", "", None
        case kind if kind in _SCALARS:
            return _SCALARS[kind], "", None
    return "object", "", None
