"""Does encryption cost more in one version than in another? The difference of two overheads of the same run.

Versions are strata: each has plain twins of its own, and a condition is judged against those of its version. The two
ratios share no twin, so the model is that of two runs (`tdelta.inference.between`). What both versions' blocks have in
common would narrow the difference; it is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tdelta.design.factors import VERSIONS
from tdelta.inference.between import difference
from tdelta.records import Condition, Decision, RunSettings, Verdict
from tdelta.records.history import VersionDifference


def version_differences(verdicts: Iterable[Verdict], settings: RunSettings) -> Iterator[VersionDifference]:
    """Each primary verdict of a later version beside that of the first one, all other levels alike."""
    primary = [verdict for verdict in verdicts if verdict.primary]
    for factor in VERSIONS:
        first: dict[object, Verdict] = {}
        for verdict in primary:
            if factor not in dict(verdict.condition.levels):
                continue
            earlier = first.setdefault((_but(verdict.condition, factor), verdict.metric), verdict)
            if earlier is not verdict:
                is_sound = Decision.UNSOUND not in (earlier.decision, verdict.decision)
                yield VersionDifference(
                    factor=factor,
                    condition=verdict.condition,
                    versus=earlier.condition,
                    metric=verdict.metric,
                    earlier=earlier.ratio,
                    later=verdict.ratio,
                    difference=difference(verdict.ratio, earlier.ratio, settings.rope, is_sound=is_sound),
                )


def _but(condition: Condition, factor: str) -> object:
    levels = tuple((name, level) for name, level in condition.levels if name != factor)
    return condition.role, condition.planted, levels
