"""The built-in studies, each a published experiment at a scale that a laptop finishes."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.errors import UnknownName, UsageError
from tdelta.session.published import PUBLISHED, PublishedFigure


@dataclass(frozen=True, slots=True)
class Study:
    """A study as ``tdelta studies`` lists it. ``runs`` says whether this version can run it."""

    name: str
    title: str
    published: str
    runs: bool
    note: str = ""

    @property
    def figures(self) -> tuple[PublishedFigure, ...]:
        """What was published, figure by figure, with its source; empty where nothing comparable was."""
        return PUBLISHED.get(self.name, ())


_LATER = "planned: this version of tdelta cannot run it yet"

_STUDIES = (
    Study(
        "order-entry",
        "order entry on the embedded engine, plain against AES-256",
        "Oracle 12c, Swingbench Order Entry, 4 users: cipher none/AES-128/AES-256 x AES instructions on/off",
        True,
        "the ciphers and the mix; the factor aes_instructions is planned",
    ),
    Study("direct-load", "one serial bulk load", "Oracle 12c, SQL*Loader direct path: 1.5 x elapsed", False, _LATER),
    Study(
        "read-only-sweep",
        "point and range selects against threads and cache",
        "Percona Server 8.0, sysbench oltp_read_only: +9 % at 1 thread, none from 64",
        False,
        f"{_LATER}; its transaction is the workload read-only",
    ),
    Study(
        "warehouse",
        "scan and rebuild of a fact table",
        "SQL Server Fast Track: rebuild +30 % elapsed; SUM from disk +372 % CPU, from memory 0 %",
        False,
        _LATER,
    ),
    Study(
        "dml-trace",
        "inserts, deletes, updates and selects in groups of 100 rows",
        "Oracle 19c: 2.2 x elapsed on AIX, 1.34 x on Linux",
        False,
        _LATER,
    ),
    Study(
        "response-times",
        "gamma model of response times",
        "JAGS on Swingbench response times: 95 % HDI of the difference -0.69 ... +1.89 ms",
        False,
        _LATER,
    ),
)


def studies() -> tuple[Study, ...]:
    """All studies of the design, those that run first in their published order."""
    return _STUDIES


def study_workload(name: str | None) -> str:
    """The workload of a study; the default study's for None.

    Raises:
        UnknownName: there is no such study.
        UsageError: this version cannot run it.
    """
    wanted = name or "order-entry"
    known = {study.name: study for study in _STUDIES}
    if wanted not in known:
        raise UnknownName("study", wanted, known)
    if not known[wanted].runs:
        raise UsageError(f"study {wanted!r}: {known[wanted].note}; what runs now: `tdelta run order-entry`")
    return "order-entry"
