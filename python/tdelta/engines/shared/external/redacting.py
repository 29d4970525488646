"""Texts that leave the user's machine: without names, addresses, paths and passwords of whose servers these are."""

from __future__ import annotations

import re
from collections.abc import Mapping

_ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|(?<![\w:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}(?![\w:])"
)
_VERSION = re.compile(r"\d+(?:\.\d+){3,}\Z")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+[\w.@+-]*|\b[A-Za-z]:\\[^\s'\"]+")
_ACCOUNT = re.compile(r"'[^']*'@'[^']*'")


def without(text: str, secrets: Mapping[str, str]) -> str:
    """A text without what must not leave; a version of four numbers that stands alone is none.

    Args:
        text: what a server said, or what was asked of it.
        secrets: texts, and the word that stands in the place of each; the longest are looked for first.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", f"<{secrets[secret]}>", text, flags=re.IGNORECASE)
    for pattern, word in ((_ACCOUNT, "<USER>"), (_ADDRESS, "<ADDRESS>"), (_PATH, "<PATH>")):
        text = text if pattern is _ADDRESS and _VERSION.match(text) else pattern.sub(word, text)
    return text
