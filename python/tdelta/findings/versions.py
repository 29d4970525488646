"""Does encryption cost more in one version than in another? The difference of two overheads of the same run.

Versions are strata: each has plain twins of its own, and a condition is judged against those of its version. The two
ratios share no twin, so the model is that of two runs (`tdelta.inference.between`). What both versions' blocks have in
common would narrow the difference; it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tdelta import inference
from tdelta.design.factors import VERSIONS
from tdelta.document.blocks import Block, Paragraph
from tdelta.document.labels import kind_label, level_text, metric_name, surroundings
from tdelta.document.quantities import ratio_cells, share
from tdelta.document.wording import chance, points_text
from tdelta.findings.base import FinishedRun, Kind
from tdelta.records import Condition, Decision, Estimate, Finding, Metric, RunResult, Verdict
from tdelta.records.history import Change, OverheadChange

_NOTE = "Each overhead is relative to unencrypted copies of the same version. The difference is informational."


@dataclass(frozen=True, slots=True)
class VersionDifference(Finding):
    """One condition in a version beside the same condition in the first version asked for.

    Each is over the baseline of its own version. ``factor`` is ``server`` or ``library``; ``earlier`` is the ratio in
    the first version (``versus``), ``later`` in this one (``condition``). ``difference`` decides nothing.
    """

    FINDING = "version_differences"

    factor: str
    condition: Condition
    versus: Condition
    metric: Metric
    earlier: Estimate
    later: Estimate
    difference: OverheadChange


def of_run(run: FinishedRun) -> Iterator[VersionDifference]:
    """Each primary verdict of a later version beside that of the first one, all other levels alike."""
    for factor in (factor for factor in VERSIONS if factor != run.settings.contrast):
        first: dict[object, Verdict] = {}
        for verdict in run.verdicts:
            if not verdict.primary or not verdict.condition.get(factor):
                continue
            earlier = first.setdefault((_but(verdict.condition, factor), verdict.metric), verdict)
            if earlier is not verdict:
                is_valid = Decision.INVALID not in (earlier.decision, verdict.decision)
                tolerance = run.settings.tolerance
                yield VersionDifference(
                    factor=factor,
                    condition=verdict.condition,
                    versus=earlier.condition,
                    metric=verdict.metric,
                    earlier=earlier.ratio,
                    later=verdict.ratio,
                    difference=inference.difference(verdict.ratio, earlier.ratio, tolerance, is_valid=is_valid),
                )


def _but(condition: Condition, factor: str) -> object:
    levels = tuple((name, level) for name, level in condition.levels if name != factor)
    return condition.role, condition.injected, levels


def blocks(found: Sequence[VersionDifference], result: RunResult) -> Iterator[Block]:
    """``Versions, aes-256: response time +5.1% in server 10.11.14, +9.8% in server 11.4.2: …``, for each version."""
    for one in found:
        where = surroundings(one.condition, result.settings, besides=one.factor)
        before, now = (ratio_cells(ratio, ())[0] for ratio in (one.earlier, one.later))
        first, later = (level_text(one.factor, of.level(one.factor)) for of in (one.versus, one.condition))
        name = ", ".join((kind_label(one.condition, result.settings), *where))
        said = _said(one.difference, share(result.settings.tolerance))
        what = metric_name(one.metric, result.settings)
        yield Paragraph(f"Versions, {name}: {what} {before} in {first}, {now} in {later}: {said}.")
    yield Paragraph(_NOTE, "note")


def _said(difference: OverheadChange, tolerance: str) -> str:
    points, limit = points_text(difference), f"the {tolerance.removesuffix(' %')} points that you would not care about"
    return {
        Change.LARGER: f"it costs more in the latter, {points}, more than {limit}",
        Change.SMALLER: f"it costs less in the latter, {points}, by more than {limit}",
        Change.UNCHANGED: f"they do not differ, {points}, within {limit}",
        Change.INVALID: f"no answer, since a check failed ({points})",
        Change.UNDECIDED: (
            f"undecided whether they differ, {points}; the probability that it costs more in the latter at all is"
            f" {chance(difference.mass_above_zero)}"
        ),
    }[difference.change]


KIND = Kind(VersionDifference, of_run, blocks, "versions", "Versions")
