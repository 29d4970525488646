"""The English of cautions, by code."""

CAUTIONS: dict[str, str] = {}
