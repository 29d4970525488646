"""HammerDB's time profile, ``hdbxtprofile.log``: the times of the five procedures, of each virtual user and of all.

HammerDB appends: a file may hold several reports, each a run. Only the summary of all virtual users is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tdelta.importers.hammerdb.figures import procedures
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.problems import Problems, shown, too_many, whole
from tdelta.importers.reading import Source
from tdelta.messages import Refusal
from tdelta.records.observed import Observation

MOST_REPORTS = 1000
MOST_PROCEDURES = 100

_SIGNS = re.compile(
    r"Hammerdb Time Profile Report @|^>>>>> (?:VIRTUAL USER \d|SUMMARY OF \d|PROC: )", re.MULTILINE | re.ASCII
)
_SUMMARY = re.compile(r">>>>> SUMMARY OF (\d{1,6}) ACTIVE VIRTUAL USERS", re.ASCII)
_PROCEDURE = re.compile(r">>>>> PROC: (\S{1,60})")
_FIELD = re.compile(r"([A-Z]{1,5}\d{0,2}): (\S{1,60})", re.ASCII)
_UNITS = {"MIN": "min_ms", "AVG": "avg_ms", "MAX": "max_ms", "TOTAL": "total_ms"}


def is_time_profile(head: str) -> bool:
    return _SIGNS.search(head) is not None


@dataclass(slots=True)
class _Report:
    """A summary: the line it starts on, its virtual users, its procedures."""

    line: int
    users: int
    rows: dict[str, dict[str, object]] = field(default_factory=dict)


class TimeProfileImporter(Importer):
    name = "HammerDB profile"

    def recognizes(self, source: Source) -> bool:
        return is_time_profile(source.head.decode("utf-8", errors="replace"))

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        reports = _reports(source, problems)
        for position, report in enumerate(reports, 1):
            if not report.rows:
                problems.add(Refusal.of("missing", what="the list of procedures after the summary"), report.line)
            of_run = belonging.of_run(position, len(reports)).with_level("threads", report.users or None)
            yield from procedures(report.rows, of_run, report.line, problems)
        if not reports:
            problems.add(Refusal.of("missing", what="'>>>>> SUMMARY OF … ACTIVE VIRTUAL USERS'"))


def _reports(source: Source, problems: Problems) -> list[_Report]:
    """The summaries of a file; what is of a single virtual user is passed over."""
    reports: list[_Report] = []
    row: dict[str, object] | None = None
    is_summary = False
    for line, text in source.text_lines():
        if match := _SUMMARY.search(text):
            if len(reports) == MOST_REPORTS:
                problems.add(too_many("reports in one file", MOST_REPORTS), line)
                return reports
            reports.append(_Report(line, int(match[1])))
            is_summary, row = True, None
        elif text.startswith(">>>>> VIRTUAL USER") or "Time Profile Report @" in text:
            is_summary, row = False, None
        elif is_summary and (match := _PROCEDURE.search(text)):
            row = _new_row(match[1], reports[-1], line, problems)
        elif row is not None:
            row.update(_fields(text))
    return reports


def _new_row(name: str, report: _Report, line: int, problems: Problems) -> dict[str, object] | None:
    if name in report.rows or len(report.rows) == MOST_PROCEDURES:
        problems.add(Refusal.of("twice", what=f"procedure {shown(name)}, one of at most {MOST_PROCEDURES},"), line)
        return None
    return report.rows.setdefault(name, {})


def _fields(text: str) -> Iterator[tuple[str, object]]:
    """``MIN: 1.251ms`` as the jobs database would name it; a unit that is not ms leaves no number behind."""
    for name, value in _FIELD.findall(text):
        figure = value.removesuffix("%" if name == "RATIO" else "ms")
        if name == "CALLS":
            yield "calls", whole(figure)
        elif name in ("SD", "RATIO"):
            yield {"SD": "sd", "RATIO": "ratio_pct"}[name], figure
        else:
            yield _UNITS.get(name, f"{name.lower()}_ms"), figure
