"""JSON of strangers: read whole where it is small, its figures taken as `tdelta.importers.problems` takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tdelta.importers.problems import Problems, shown, unexpected
from tdelta.importers.protocol import Source
from tdelta.messages import Refusal

LARGEST_BYTES = 4 * 1024 * 1024
"""What is larger takes a hundred times its length in memory, if it is made for that."""


def json_value(source: Source, problems: Problems, largest_bytes: int = LARGEST_BYTES) -> object:
    """What the file holds; None, with a fault, where it is no JSON.

    Raises:
        ImportFault: it is larger than that.
    """
    try:
        return _loaded(source.content(largest_bytes).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        problems.add(unexpected("UTF-8", f"the byte {error.object[error.start]:#04x}"))
    except json.JSONDecodeError as error:
        problems.add(Refusal.of("invalid", kind="JSON", fault=error.msg), error.lineno)
    except (ValueError, RecursionError):
        problems.add(Refusal.of("invalid", kind="JSON", fault="a number or a nesting that is too long"))
    return None


def json_object(source: Source, problems: Problems, largest_bytes: int = LARGEST_BYTES) -> Mapping[str, object]:
    """The object that the file holds; empty, with a fault, where it holds none."""
    found = json_value(source, problems, largest_bytes)
    if isinstance(found, dict):
        return found
    if not problems:
        problems.add(unexpected("a JSON object", shown(found)))
    return {}


def of_object(found: object, *keys: str) -> object:
    """What stands below keys, each in an object below the one before; None where there is nothing."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def one_object(line: str) -> dict[str, object] | None:
    try:
        found = _loaded(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _loaded(text: str) -> object:
    """The value; a half of a surrogate pair, which JSON can name and no text can hold, becomes a question mark."""
    found = json.loads(text)
    if "\\ud" not in text.lower():
        return found
    return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))
