"""The English of refusals of load commands, by code."""

LOADS: dict[str, str] = {}
