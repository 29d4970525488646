"""Private servers of tdelta's own: made, supervised, frozen while idle, removed."""

from tdelta.driver.servers.copies import copy_data
from tdelta.driver.servers.places import place_for
from tdelta.driver.servers.server import Server, greets

__all__ = ["Server", "copy_data", "greets", "place_for"]
