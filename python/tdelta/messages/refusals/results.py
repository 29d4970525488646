"""The English of refusals of results of other tools, by code."""

RESULTS: dict[str, str] = {}
