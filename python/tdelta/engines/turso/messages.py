"""What is said of Turso alone: the English, by code."""

from __future__ import annotations

from typing import ClassVar

from tdelta.messages import Refusal


class TursoRefusal(Refusal):
    """Why something cannot be done with Turso, and what to do."""

    __slots__ = ()
    TEMPLATES: ClassVar = {"not-installed": "engine 'turso': pyturso not installed: pip install 'tdelta[turso]'"}
