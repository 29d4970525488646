"""Any other command: its time and CPU are the result, or how many operations a pattern finds in its output."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import PurePath

from tdelta.driver.load_command.connections import MYSQL
from tdelta.driver.load_command.pgbench import Pgbench
from tdelta.driver.load_command.results import Finished, LoadResult, histograms_of, unreadable
from tdelta.driver.load_command.sysbench import Sysbench
from tdelta.driver.load_command.tools import Amount, Filled, KnownTool, ToolRequest
from tdelta.messages import Caution, Refusal
from tdelta.records import SpanTotals

TOOLS: tuple[KnownTool, ...] = (Sysbench(), Pgbench())
"""The load tools whose options and reports are known."""

_PLACES = ("{socket}", "{host}", "{port}", "{passfile}")
_MARKS = {"{operations}": Amount.ASKED, "{operations_per_thread}": Amount.ASKED, "{seconds}": Amount.TIMED}


class AnyCommand:
    """The tool that knows nothing; see `tdelta.driver.load_command.tools.Tool`.

    Args:
        program: the command's first word.
        operations: a pattern whose group is the number of operations in what the command prints.
    """

    install = "install it, or give its path"

    def __init__(self, program: str, operations: re.Pattern[str] | None = None) -> None:
        self.name = PurePath(program).name or program
        self._operations = operations

    def fill(self, words: Sequence[str], asked: ToolRequest) -> Filled:
        """Nothing is added: what the command needs is written with placeholders, or in its environment."""
        text = " ".join(words)
        amount = next((amount for mark, amount in _MARKS.items() if mark in text), Amount.OWN)
        cautions = [Caution.of("load-timed")] if amount is Amount.TIMED else []
        if asked.protocol == MYSQL and not any(place in text for place in _PLACES):
            cautions.append(Caution.of("load-names-no-twin", product="MySQL"))
        return Filled(words=tuple(words), amount=amount, cautions=tuple(cautions))

    def read(self, finished: Finished) -> LoadResult:
        """What the pattern finds; the report of a tool that was run by a script; else one operation."""
        if self._operations is not None:
            return self._counted(finished, self._operations)
        for tool in TOOLS:
            if tool.recognises(finished.out):
                return tool.read(dataclasses.replace(finished, log_folder=None))
        times = {self.name: {finished.elapsed_ns: 1}}
        totals = {self.name: SpanTotals(1, finished.elapsed_ns)}
        return LoadResult(1, finished.elapsed_ns, totals, histograms_of(times))

    def _counted(self, finished: Finished, pattern: re.Pattern[str]) -> LoadResult:
        found = [match.group(1) for match in pattern.finditer(finished.out)]
        numbers = [int(text.replace(",", "")) for text in found if re.fullmatch(r"[0-9][0-9,]{0,17}", text or "")]
        if not numbers or numbers[-1] == 0:
            raise unreadable(finished, Refusal.of("load-pattern-without-number", pattern=pattern.pattern))
        count = numbers[-1]
        return LoadResult(count, finished.elapsed_ns, {self.name: SpanTotals(count, finished.elapsed_ns)})
