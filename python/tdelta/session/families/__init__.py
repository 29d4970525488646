"""Families of engines, as a run sees them: one small protocol, embedded files and servers behind it."""

from tdelta.session.families.choosing import family
from tdelta.session.families.embedded import DEFAULT_PAGE_SIZE, EmbeddedFamily
from tdelta.session.families.protocol import Family

__all__ = ["DEFAULT_PAGE_SIZE", "EmbeddedFamily", "Family", "family"]
