"""Messages in English, where a test is about the words; and what a command prints that fails."""

import json
from collections.abc import Iterable

from tdelta.messages import Message
from tdelta.report.document import ERROR_SCHEMA


def texts(messages: Iterable[Message]) -> tuple[str, ...]:
    return tuple(message.text for message in messages)


def has_no_answer(printed: str) -> bool:
    """Whether standard output has nothing, or under ``--json`` why there is nothing."""
    return not printed or json.loads(printed)["schema"] == ERROR_SCHEMA
