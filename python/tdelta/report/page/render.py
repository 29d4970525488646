"""A page's blocks as one HTML text: templates, style sheet, script and palette, all in the file itself.

The page forbids itself everything from outside (Content-Security-Policy): what it may run and how it may look is named
by digest. Two calls with the same page give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tdelta import __version__
from tdelta.report.page.blocks import Page
from tdelta.report.page.palette import DARK, LIGHT, properties
from tdelta.report.quantities import glued

_TEMPLATES = Path(__file__).with_name("templates")


def render(page: Page) -> str:
    """The whole file, from its first line, which carries the page's marker, to the last."""
    template = _environment().get_template("page.html.jinja")
    return template.render(page=page, style=_style(), script=_script(), version=__version__) + "\n"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__.lower()
    environment.filters["digest"] = _digest
    environment.filters["glued"] = glued
    return environment


@cache
def _style() -> Markup:
    light, dark = properties(LIGHT), properties(DARK)
    themes = (
        f":root{{{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f"@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"
    )
    return Markup(themes + (_TEMPLATES / "style.css").read_text(encoding="utf-8"))  # noqa: S704 (our own file)


@cache
def _script() -> Markup:
    return Markup((_TEMPLATES / "page.js").read_text(encoding="utf-8"))  # noqa: S704 (our own file)


def _digest(text: str) -> str:
    """What a Content-Security-Policy names an inline style or script by."""
    digest = hashlib.sha256(str(text).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
