"""HammerDB's TPROC-C results: the line ``TEST RESULT``, in the console's log and in what ``jobs ID result`` prints.

The k-th result belongs to the k-th run of the file: NOPM and TPM as throughput a second; all other output is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tdelta.importers.faults import Problems, shown
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import Source
from tdelta.inputs import too_many, unexpected
from tdelta.messages import Refusal
from tdelta.records.conditions import Level
from tdelta.records.observed import Figure, Observation

NEW_ORDERS = "new orders"  # the transaction that NOPM counts; TPM counts all, as the database does
MOST_RESULTS = 1000
_SIGNS = re.compile(
    r"TEST RESULT : System achieved|^HammerDB CLI v\d|^Hammerdb Log @|^Vuser \d+:", re.MULTILINE | re.ASCII
)
_MINUTE_SECONDS = 60.0
_OF_COUNT = 0.5 / _MINUTE_SECONDS  # how NOPM and TPM, whole numbers a minute, are rounded
_RESULT = re.compile(
    r"TEST RESULT : System achieved (?:(?P<nopm>\d{1,15}) NOPM from (?P<tpm>\d{1,15}) |"
    r"(?P<old_tpm>\d{1,15}) [^\"]{1,40}? TPM at (?P<old_nopm>\d{1,15}) NOPM)",
    re.ASCII,
)
_USERS = re.compile(r"(\d{1,6}) Active Virtual Users configured", re.ASCII)
_MINUTES = {
    "ramp-up, min": re.compile(r"Beginning rampup time of (\d{1,6}) min", re.ASCII),
    "measured, min": re.compile(r"Timing test period of (\d{1,6}) in min", re.ASCII),
}
"""The console's lines about a run before it begins."""


@dataclass(frozen=True, slots=True)
class Result:
    nopm: int
    tpm: int


def result_in(text: str) -> Result | None:
    """The result in a line: ``128176 NOPM from 298394 MariaDB TPM``, or ``298394 MariaDB TPM at 128176 NOPM``."""
    found = _RESULT.search(text)
    if found is None:
        return None
    return Result(int(found["nopm"] or found["old_nopm"]), int(found["tpm"] or found["old_tpm"]))


class HammerDB(Importer):
    name = "HammerDB jobs"

    def recognizes(self, source: Source) -> bool:
        return _SIGNS.search(source.head_text) is not None and b"\0" not in source.head

    def is_mark(self, line: str) -> bool:
        return "TEST RESULT : System achieved" in line

    def has_results(self, source: Source) -> bool:
        """Whether there is a result; the log of a build has none."""
        return any(self.is_mark(line) for _, line in source.text_lines())

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        found: dict[Result, tuple[int, int | None, Mapping[str, Level]]] = {}
        users: int | None = None
        settings: dict[str, Level] = {}
        for line, text in source.text_lines():
            if match := _USERS.search(text):
                users = int(match[1]) or None
            settings = settings | {name: int(it[1]) for name, said in _MINUTES.items() if (it := said.search(text))}
            if "TEST RESULT :" not in text:
                continue
            result = result_in(text)
            if result is None:
                if "$" not in text:  # the script that prints it, printed
                    problems.add(unexpected("System achieved N NOPM from N TPM", shown(text.strip())), line)
            elif result not in found:  # the console says it, and the listing of jobs after it says it again
                if len(found) >= MOST_RESULTS:
                    problems.add(too_many("results in one file", MOST_RESULTS), line)
                    break
                found[result] = line, users, settings
        for run, (result, (line, threads, said)) in enumerate(found.items(), 1):
            own = belonging.of_run(run, len(found)).with_level("threads", threads).with_settings(said)
            yield from _throughput(result, own, line)
        if not problems and not found:
            problems.add(Refusal.of("no-test-result"))


IMPORTERS: tuple[Importer, ...] = (HammerDB(),)


def _throughput(result: Result, belonging: Belonging, line: int) -> Iterator[Figure]:
    """NOPM and TPM, a second. A counter that could not be read is 0, and is no figure."""
    origin = belonging.origin(line)
    if result.nopm:
        yield Figure(belonging.throughput(NEW_ORDERS), origin, result.nopm / _MINUTE_SECONDS, rounding=_OF_COUNT)
    if result.tpm:
        yield Figure(belonging.throughput(), origin, result.tpm / _MINUTE_SECONDS, rounding=_OF_COUNT)
