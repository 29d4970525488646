"""Versions beside each other: the overhead in each, and whether they differ."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.document.blocks import Block, Paragraph
from tdelta.document.labels import kind_label, level_text, metric_name, surroundings
from tdelta.document.quantities import ratio_cells, share
from tdelta.document.wording import chance, points_text
from tdelta.records import RunResult, VersionDifference
from tdelta.records.history import Change

_NOTE = "Each overhead is over plain twins of its own version; nothing is decided on the difference."


def blocks(result: RunResult) -> list[Block]:
    """A sentence for each version after the first."""
    sentences = list(version_sentences(result))
    return [*(Paragraph(said) for said in sentences), Paragraph(_NOTE, "note")] if sentences else []


def version_sentences(result: RunResult) -> Iterator[str]:
    """``Versions, aes-256: response time +5.1% in server 10.11.14, +9.8% in server 11.4.2: …``."""
    settings = result.settings
    for one in result.of(VersionDifference):
        where = surroundings(one.condition, settings, besides=one.factor)
        before, now = (ratio_cells(ratio, ())[0] for ratio in (one.earlier, one.later))
        first, later = (level_text(one.factor, of.level(one.factor)) for of in (one.versus, one.condition))
        name = ", ".join((kind_label(one.condition), *where))
        what = metric_name(one.metric, settings)
        said = _said(one, share(settings.tolerance))
        yield f"Versions, {name}: {what} {before} in {first}, {now} in {later}: {said}."


def _said(one: VersionDifference, tolerance: str) -> str:
    difference, limit = one.difference, f"the {tolerance.removesuffix(' %')} points that you would not care about"
    points = points_text(difference)
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
