"""Which groups of options an engine takes: an option names its group, an engine those that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any


class Takes(Enum):
    """A group of options that only some take; its value says for whom they are, ``{engines}`` being those."""

    INSTANCES = "for databases that tdelta creates"
    LIBRARY = "for SQLite"
    SETTING = "for {engines}"
    SERVER = "for servers that tdelta starts"
    PAGE_COMPRESSION = "for MariaDB and MySQL, whose servers compress pages"
    KEY_SERVICE = "for MariaDB, which can have its keys from a service"
    CACHE = "for engines whose cache can be limited"
    SCOPE = "for engines with a choice of encrypted files"
    SESSION_MEMORY = "for engines with separate memory for sorts and joins"
    ENCRYPTED_FOLDER = "for servers without encryption of their own"
    TRACES = "for engines that meter single statements"
    ARRAYS = "for servers whose driver fetches rows in batches"
    BULK_LOADS = "for servers whose driver loads rows without SQL"
    PARALLELISM = "for servers whose databases limit the parallelism of statements"
    AGENTS = "for servers, which several processes can reach"
    OWN_SERVERS = "for your own servers (--baseline and --encrypted)"


SERVER_TAKES = frozenset(
    {Takes.INSTANCES, Takes.CACHE, Takes.SERVER, Takes.TRACES, Takes.SCOPE, Takes.SESSION_MEMORY, Takes.AGENTS}
)
"""The options of private servers."""

SERVER_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"trial_seconds": 2.0, "blocks_per_round": 8, "max_seconds": 600.0}
)
"""The options that have another default on servers: these take longer to start, to fill and to settle."""

OWN_SERVERS_TAKE = frozenset({Takes.OWN_SERVERS, Takes.AGENTS})
"""The options of the user's servers, of any engine; an engine adds its own."""
