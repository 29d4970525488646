from __future__ import annotations

from enum import StrEnum


class Group(StrEnum):
    """A group of options, by its heading; in the order in which they are listed."""

    EVERYDAY = "Everyday"
    OWN_DATABASE = "Your own database"
    SERVERS = "Servers"
    EXPERIMENT = "Experiment"
    OUTPUT = "Output"
    EXPERT = "Expert"
