"""A run's answer in a terminal or a pipe; with ``details``, everything below it.

Color is added only on request, so that a pipe receives what a terminal shows, without its colors.
"""

from __future__ import annotations

from tdelta.records import RunResult
from tdelta.report.answer import run_answer
from tdelta.report.details import details as all_details
from tdelta.report.drawing import NARROWEST, draw, parts_of

DEFAULT_WIDTH = 100


def render(
    result: RunResult, width: int = DEFAULT_WIDTH, *, color: bool = False, details: bool = False, name: str = "last"
) -> str:
    """What a person sees of one run, as text that ends in a newline.

    Args:
        width: columns; at least 40 are used.
        name: how the commands of *Next* call the run.
    """
    width = max(NARROWEST, width)
    blocks = [*run_answer(result, name).blocks(), *(all_details(result) if details else ())]
    return draw(parts_of(blocks, width), width, color=color)
