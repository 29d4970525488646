"""The JSON document as a format."""

from __future__ import annotations

from tdelta.report.document import document, to_json
from tdelta.report.formats.answered import Answered


def as_json(answered: Answered) -> str:
    """The document that ``--json`` prints (docs/json.md)."""
    return to_json(document(answered.result, answered.exit_code))
