"""The English of refusals, by code: a module for each area.

Texts that name an engine stand in that engine's own package.
"""

from __future__ import annotations

from tdelta.messages.refusals.common import COMMON
from tdelta.messages.refusals.machine import MACHINE
from tdelta.messages.refusals.requests import REQUESTS
from tdelta.messages.refusals.results import RESULTS
from tdelta.messages.refusals.servers import SERVERS
from tdelta.messages.refusals.stores import STORES
from tdelta.messages.refusals.workloads import WORKLOADS

REFUSALS = COMMON | REQUESTS | MACHINE | STORES | SERVERS | WORKLOADS | RESULTS
