"""What a run stands on besides its request: rows of the user's, two of their servers, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from tdelta.engines.shared.external.reached import ReachedServers, external_dsns, reached
from tdelta.records import Event, Phase
from tdelta.session.planning import check
from tdelta.session.request import RunRequest
from tdelta.session.source import Source
from tdelta.session.staging import staged

Observer = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class RunInputs:
    """At most one of the two: ``source`` where rows are the user's, ``servers`` where servers are."""

    source: Source | None = None
    servers: ReachedServers | None = None

    def active(self) -> AbstractContextManager[None]:
        """While the block lasts, what the run needs is there: its schemas on servers of the user's."""
        return nullcontext() if self.servers is None else self.servers.made()


@contextmanager
def prepared_inputs(request: RunRequest, run_id: str, observe: Observer) -> Iterator[RunInputs]:
    """Make ready what a run stands on, while the block lasts.

    Raises:
        UsageError: what was asked cannot be done; every fault that can be seen is named before anything is begun.
        TdeltaError: as `tdelta.session.staging.staged` and `tdelta.engines.shared.external.reached.reached`.
    """
    dsns = external_dsns(request.values)
    if dsns is not None:
        check(request)
        with reached(request.values, dsns, run_id) as servers:  # silent: a person may be asked for a password
            observe(Phase("compare", "the two servers were found to be twins"))
            yield RunInputs(servers=servers)
    else:
        with staged(request, run_id, observe) as source:
            yield RunInputs(source=source)
