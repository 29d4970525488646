"""One self-contained HTML page of a stored run, or of several side by side.

``gather`` reads the store, ``compose`` and ``compare`` turn records into blocks, ``render`` draws the blocks with the
templates, ``write_page`` puts the file in its place. Figures are inline SVG by `tdelta.report.page.plot`. The page
holds no time but the run's own, so the same run gives the same bytes.
"""

from tdelta.report.page.compare import compare
from tdelta.report.page.compose import MARKER, compose
from tdelta.report.page.gather import RunData, gather
from tdelta.report.page.render import render
from tdelta.report.page.writing import write_page

__all__ = ["MARKER", "RunData", "compare", "compose", "gather", "render", "write_page"]
