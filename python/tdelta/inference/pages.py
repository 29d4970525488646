"""What a page of encrypted data cost beyond plain: the extra CPU time of an operation over the pages it moved.

A page is moved when the cache reads it (a miss) or writes it; what a checkpoint then moves again is in the CPU time and
not in the count, so the cost a page of a workload that writes is an upper bound. The floor beside it is what the cipher
alone takes for the same mix of reads and writes; what is above it is integrity, initialisation vectors, checkpoints and
whatever else encryption brings along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tdelta.inference.page_counts import counted_names
from tdelta.records import Metric, PageCost, Trial, Verdict

FEWEST_PAGES = 0.05
"""Pages an operation below which the quotient would be all noise."""


@dataclass(frozen=True, slots=True)
class PageFloor:
    """What the cipher of one condition takes for one page on this CPU, µs; ``words`` says which cipher and how."""

    decrypt_us: float
    encrypt_us: float
    words: str


@dataclass(frozen=True, slots=True)
class _Pages:
    """Pages an operation, read and written."""

    read: float
    written: float

    @property
    def moved(self) -> float:
        return self.read + self.written

    def floor_us(self, floor: PageFloor) -> float:
        return (self.read * floor.decrypt_us + self.written * floor.encrypt_us) / self.moved


def page_costs(
    trials: Iterable[Trial], verdicts: Sequence[Verdict], floors: Mapping[str, PageFloor]
) -> tuple[PageCost, ...]:
    """The cost a page of every encrypted condition, from its CPU verdict over the mix.

    Args:
        trials: the run's, with the counters ``cache_misses`` and ``cache_writes``, or ``pages_read`` and
            ``pages_written``; conditions without any are left out.
        verdicts: the run's; those of CPU per operation over the whole mix are used.
        floors: by the condition's key; conditions without one get no floor.
    """
    moved = _pages(trials)
    return tuple(_costs(moved, verdicts, floors))


def _costs(
    moved: Mapping[str, _Pages], verdicts: Sequence[Verdict], floors: Mapping[str, PageFloor]
) -> Iterator[PageCost]:
    for verdict in verdicts:
        condition = verdict.condition
        if _is_distinguishable(verdict) and condition.key in moved:
            yield _page_cost(verdict, moved[condition.key], floors.get(condition.key))


def _is_distinguishable(verdict: Verdict) -> bool:
    of_mix = verdict.metric is Metric.CPU_PER_OPERATION and verdict.transaction == "all"
    return of_mix and verdict.condition.is_encrypted and verdict.baseline_value > 0


def _page_cost(verdict: Verdict, pages: _Pages, floor: PageFloor | None) -> PageCost:
    has_pages = pages.moved >= FEWEST_PAGES

    def a_page(ratio: float) -> float:
        return (ratio - 1.0) * verdict.baseline_value / pages.moved

    low, high = verdict.ratio.hdi95
    return PageCost(
        condition=verdict.condition,
        pages_per_operation=pages.moved,
        cpu_us_per_page=a_page(verdict.ratio.median) if has_pages else None,
        hdi95=(a_page(low), a_page(high)) if has_pages else None,
        cipher_us_per_page=pages.floor_us(floor) if floor and has_pages else None,
        cipher_measured=floor.words if floor else "",
    )


def _pages(trials: Iterable[Trial]) -> dict[str, _Pages]:
    """Pages an operation by the condition's key, over all its trials."""
    totals: dict[str, tuple[int, int, int]] = {}
    for trial in trials:
        counters = trial.measurement.engine_counters
        counted = counted_names(counters)
        if not counted:
            continue
        read, written, operations = totals.get(trial.condition.key, (0, 0, 0))
        totals[trial.condition.key] = (
            read + counters[counted[0]],
            written + counters.get(counted[1], 0),
            operations + trial.measurement.counted_operations,
        )
    return {key: _Pages(read / done, written / done) for key, (read, written, done) in totals.items() if done}
