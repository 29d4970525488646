"""The English of reasons, by code."""

REASONS: dict[str, str] = {}
