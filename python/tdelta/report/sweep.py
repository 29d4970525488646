"""A run over several numbers of threads as a grid: a row for each number, a column for each level of the rest.

Sorts what was judged, measured and published into cells; computes none of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tdelta.document.labels import compared_label, kind_label, level_text, surroundings
from tdelta.records import Condition, PublishedCell, Role, RunResult, ServerMeasures, Verdict

THREADS = "threads"


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One encrypted condition of a sweep. ``panel`` is what else varies (``cache 10%``), empty if nothing does."""

    verdict: Verdict
    threads: int
    compared: str
    panel: str
    published: PublishedCell | None

    @property
    def condition(self) -> Condition:
        return self.verdict.condition


def sweep_cells(result: RunResult) -> tuple[SweepCell, ...]:
    """The primary verdicts of the encrypted conditions, in the design's order; none where threads do not vary."""
    judged = [v for v in result.primary if v.condition.role is Role.TREATMENT]
    if len({c.level(THREADS) for c in result.settings.conditions if THREADS in dict(c.levels)}) < 2:
        return ()
    published = {cell.condition.key: cell for cell in result.of(PublishedCell)}
    return tuple(
        SweepCell(
            verdict=verdict,
            threads=int(verdict.condition.level(THREADS)),
            compared=compared_label(verdict.condition),
            panel=panel_of(verdict.condition, result),
            published=published.get(verdict.condition.key),
        )
        for verdict in judged
    )


def panel_of(condition: Condition, result: RunResult) -> str:
    """What varies beside threads, in words: ``cache 10%``."""
    return ", ".join(surroundings(condition, result.settings, besides=THREADS))


def panels(cells: Iterable[SweepCell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cell.panel for cell in cells))


def server_groups(result: RunResult) -> dict[str, list[ServerMeasures]]:
    """The servers' measures by what varies beside threads; within it by threads, plain and encrypted beside each other.

    A/A twins are left out.
    """
    shown = [m for m in result.of(ServerMeasures) if m.condition.role not in (Role.AA, Role.BB)]
    groups: dict[str, list[ServerMeasures]] = {panel_of(m.condition, result): [] for m in shown}
    for measured in sorted(shown, key=lambda m: int(m.condition.level(THREADS))):
        groups[panel_of(measured.condition, result)].append(measured)
    return groups


def server_label(measured: ServerMeasures, result: RunResult) -> str:
    """A server within its group: ``16 threads, plain``, ``aes-256, tables only``."""
    condition = measured.condition
    name = "plain" if condition.role is Role.BASELINE else kind_label(condition)
    threads = {m.condition.level(THREADS) for m in result.of(ServerMeasures)}
    return name if len(threads) == 1 else f"{level_text(THREADS, condition.level(THREADS))}, {name}"
