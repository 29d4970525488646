"""The English of refusals, by code."""

REFUSALS: dict[str, str] = {}
