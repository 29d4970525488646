"""Messages in English, where a test is about the words."""

from __future__ import annotations

from collections.abc import Iterable

from tdelta.messages import Message


def texts(messages: Iterable[Message]) -> tuple[str, ...]:
    """The text of each."""
    return tuple(message.text for message in messages)
