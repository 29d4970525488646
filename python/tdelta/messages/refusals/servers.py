"""The English of refusals of DSNs and servers, by code."""

SERVERS: dict[str, str] = {}
