"""The English of refusals, by code: a module for each family, and all of them as one catalogue.

What names an engine stands in that engine's own package (``engines/NAME/messages.py``).
"""

from __future__ import annotations

from tdelta.messages.refusals.loads import LOADS
from tdelta.messages.refusals.machine import MACHINE
from tdelta.messages.refusals.requests import DATABASES, REQUESTS
from tdelta.messages.refusals.results import RESULTS
from tdelta.messages.refusals.servers import SERVER_CHECKS, SERVERS
from tdelta.messages.refusals.stores import STORES
from tdelta.messages.refusals.workloads import WORKLOADS

REFUSALS = REQUESTS | MACHINE | STORES | SERVERS | DATABASES | WORKLOADS | LOADS | RESULTS | SERVER_CHECKS
