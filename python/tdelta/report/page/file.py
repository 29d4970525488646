"""A page as one HTML file that needs nothing else, written whole or not at all."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from tdelta import __version__
from tdelta.document.blocks import MARKER, Medium, Page, is_for
from tdelta.document.quantities import glued
from tdelta.errors import StorageFault, UsageError
from tdelta.inputs import real_path, written_to
from tdelta.messages import Refusal
from tdelta.store.export import replacing

# The colours of the page, by theme: one accent, greys, and an alarm that is used for nothing but alarms.
#
# A test computes the contrast of every pair of text and ground that the style sheet uses (at least 4.5 to 1,
# as WCAG 2.2 asks of text, success criterion 1.4.3) and of marks (3 to 1, 1.4.11). No meaning hangs on a
# colour alone.

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "panel": "#f5f6f8",
    "ink": "#16191d",
    "muted": "#565e69",
    "rule": "#d9dde2",
    "grid": "#e8ebee",
    "plain": "#6a727d",
    "accent": "#1a56b0",
    "wash": "#dbe6f6",
    "tolerance": "#e9ecf0",
    "alarm": "#b3231a",
    "alarm-wash": "#fdecea",
}
DARK: Mapping[str, str] = {
    "paper": "#14171b",
    "panel": "#1d2126",
    "ink": "#e8ebee",
    "muted": "#a7b0bb",
    "rule": "#363d46",
    "grid": "#282e35",
    "plain": "#98a2ae",
    "accent": "#7fb0ff",
    "wash": "#223450",
    "tolerance": "#2a3037",
    "alarm": "#ff8a80",
    "alarm-wash": "#3a1f1e",
}


def properties(colours: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


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
    environment.filters["for_page"] = lambda blocks: [block for block in blocks if is_for(block, Medium.PAGE)]
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
    digest = hashlib.sha256(str(text).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


_FIRST_LINE_BYTES = 200
_PRIVATE = 0o600
"""A page tells of names of tables, statements and servers: who else may read it, its owner says."""


def write_page(text: str, path: Path, *, force: bool = False) -> None:
    """Write a page to a file, beside it first and then renamed; a device or a pipe is written to."""
    with _faults(path):
        if path.exists() and not path.is_file():
            with written_to(path) as out:
                out.write(text)
            return
        _require_ours(path, force=force)
        with replacing(real_path(path), _PRIVATE) as out:
            out.write(text)


def require_place(path: Path, *, force: bool = False) -> None:
    """See that a page can go there, before what it is to show is measured; raises as `write_page` does."""
    with _faults(path):
        if path.exists():
            _require_ours(path, force=force)
            return
        folder = real_path(path).parent
        folder.stat()
        if not folder.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextlib.contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise StorageFault(Refusal.of("path-unusable", path=path, fault=reason)) from error


def _require_ours(path: Path, *, force: bool) -> None:
    if path.is_file() and not force and not is_report(path):
        raise UsageError(Refusal.of("file-exists", path=str(path)))


def is_report(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline(_FIRST_LINE_BYTES)
    return first.startswith(f"<!DOCTYPE html><!-- {MARKER}".encode())
