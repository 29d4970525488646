from __future__ import annotations

from tdelta.report.document import document, to_json
from tdelta.report.formats.answered import Answered
from tdelta.report.history import against_values


def as_json(answered: Answered) -> str:
    """The document that ``--json`` prints (docs/json.md), with ``against`` where that was asked for."""
    values = document(answered.result, answered.exit_code)
    if answered.against is not None:
        values["against"] = against_values(answered.against)
    return to_json(values)
