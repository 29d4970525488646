"""The English of refusals of databases and dumps of the user's, and of statements, by code."""

DATABASES: dict[str, str] = {}
