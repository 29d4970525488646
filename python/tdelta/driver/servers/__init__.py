"""Private servers of tdelta's own: made, supervised, frozen while idle, removed."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.driver.servers.copies import copy_data
    from tdelta.driver.servers.directories import place_for
    from tdelta.driver.servers.server import Server, greets
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(__name__, copies=("copy_data",), directories=("place_for",), server=("Server", "greets"))
