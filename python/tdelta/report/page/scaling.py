"""The page of ``tdelta scaling``: a sentence, a figure and its numbers per condition, and what predictions are of."""

from __future__ import annotations

from tdelta import __version__
from tdelta.records.scaling import Scaling
from tdelta.report.page.blocks import Block, Heading, Page, Paragraph, Section
from tdelta.report.page.compose import MARKER
from tdelta.report.page.figures.scaling import scaling_figure
from tdelta.report.quantities import counted, printable
from tdelta.report.scaling import LIMITS, curve_name, curve_sentence, prediction


def compose_scaling(scaling: Scaling) -> Page:
    """The page of predictions from one sweep."""
    blocks: list[Block] = []
    for number, curve in enumerate(scaling.curves):
        blocks += [Heading(curve_name(curve)), Paragraph(curve_sentence(curve), "lead"), scaling_figure(curve, number)]
    notes: list[Block] = [
        Paragraph(LIMITS[scaling.over]),
        *(Paragraph(caution.text, "caution") for caution in scaling.cautions),
    ]
    (first, *others) = scaling.curves
    more = f", and {counted(len(others), 'more condition')}" if others else ""
    words = f"{prediction(first)}{more}"
    source = printable(scaling.source)
    return Page(
        title=f"tdelta: scaling of {source}",
        eyebrow=f"tdelta scaling: {source}",
        headline=f"{words[:1].upper()}{words[1:]}",
        is_alarm=False,
        sections=[
            Section("scaling", f"The overhead against {scaling.over}", blocks),
            Section("limits", "What predictions are of", notes),
        ],
        marker=f"{MARKER}: scaling",
        footer=f"Drawn by tdelta {__version__} from the sweep alone. This file asks nothing of any network.",
    )
