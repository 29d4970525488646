"""What a report that is sent to somebody does not say: names, addresses and passwords of whose servers these are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from tdelta.messages import Refusal
from tdelta.records.contracts import ContractStep

_ADDRESS = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|(?<![\w:])(?:[0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{0,4}(?![\w:])"
)
_PATH = re.compile(r"(?<![\w.])/(?:[\w.@+-]+/)+[\w.@+-]*")
_ACCOUNT = re.compile(r"'[^']*'@'[^']*'")


def redacted(step: ContractStep, secrets: Mapping[str, str]) -> ContractStep:
    """A step without what must not leave.

    Args:
        step: the step.
        secrets: texts, and the word that stands in the place of each; the longest are looked for first.
    """

    def tidied(value: str) -> str:
        return _tidied(value, secrets)

    found = {name: tidied(value) if isinstance(value, str) else value for name, value in step.found.items()}
    return replace(step, found=found, refusals=tuple(_refusal(said, tidied) for said in step.refusals))


def _refusal(said: Refusal, tidied: Callable[[str], str]) -> Refusal:
    return Refusal(said.code, {name: tidied(v) if isinstance(v, str) else v for name, v in said.parameters.items()})


def _tidied(text: str, secrets: Mapping[str, str]) -> str:
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", f"<{secrets[secret]}>", text)
    for pattern, word in ((_ACCOUNT, "<USER>"), (_ADDRESS, "<ADDRESS>"), (_PATH, "<PATH>")):
        text = pattern.sub(word, text)
    return text
