"""What is removed from a report that may be sent to others: names, addresses and passwords of the servers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tdelta.engines.shared.external.redacting import without
from tdelta.messages import Refusal
from tdelta.records.contracts import ContractStep


def redacted(step: ContractStep, secrets: Mapping[str, str]) -> ContractStep:
    """A step without what must not leave.

    Args:
        step: the step.
        secrets: as for `without`.
    """

    def tidied(value: str) -> str:
        return without(value, secrets)

    found = {name: tidied(value) if isinstance(value, str) else value for name, value in step.found.items()}
    return replace(step, found=found, refusals=tuple(_refusal(said, tidied) for said in step.refusals))


def _refusal(said: Refusal, tidied: Callable[[str], str]) -> Refusal:
    return Refusal(said.code, {name: tidied(v) if isinstance(v, str) else v for name, v in said.parameters.items()})
