"""Single response times as tools log them, a line a request: of all requests, and of each type of them.

What failed is counted, reported and left out: how long an error takes says nothing of the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tdelta.importers.accumulating import Gathering
from tdelta.importers.belonging import Belonging
from tdelta.importers.intervals import Span
from tdelta.importers.problems import plain_name
from tdelta.messages import Caution, Refusal
from tdelta.records.observed import ALL, Samples

MOST_TYPES = 100
"""More are addresses with an id in each, and no types of requests."""


class Requests:
    """The requests of one run so far.

    Args:
        file: as the user named it, for messages.
        has_whole: whether the whole mix is a group as well; not where rows are parts of one another, or not in order.
    """

    def __init__(self, file: str, *, has_whole: bool = True) -> None:
        self.failed = 0
        self.span = Span()
        self._has_whole = has_whole
        self._all: Gathering[str] = Gathering(file, "files")
        self._types: Gathering[str] = Gathering(file, "types of requests")
        self._names: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, kind: str, value_ms: float, line: int) -> None:
        """One more that succeeded. Raises ``ImportFault`` for a time that is none."""
        name = plain_name(kind) or ALL
        if self._has_whole:
            self._all.add(ALL, value_ms, line)
            name = "requests named all" if kind == ALL else name
        if name in self._names or len(self._names) < MOST_TYPES or not self._has_whole:
            self._names[name] = None
            self._types.add(name, value_ms, line)
        elif len(self._names) == MOST_TYPES:
            self._names[""] = None  # one too many: from here on they are not types

    def samples(self, belonging: Belonging) -> Iterator[Samples]:
        """What there is of them. Raises ``ImportFault`` where none has a time above 0."""
        noted = [Caution.of("rows-failed", rows=self.failed)] if self.failed else []
        has_types = "" not in self._names
        if not has_types:
            noted.append(Caution.of("types-too-many", most=MOST_TYPES))
        origin = belonging.origin(None, *noted)
        found: list[Samples] = []
        if self._has_whole:
            found += self._all.samples(belonging.response_times, origin)
        if not self._has_whole or (has_types and len(self._names) > 1):
            found += self._types.samples(belonging.response_times, origin)
        for one in found:
            yield replace(one, started_unix_seconds=self.span.begin, duration_seconds=self.span.seconds)

    def nothing(self) -> Refusal:
        return Refusal.of("no-successful-requests", failed=self.failed)
