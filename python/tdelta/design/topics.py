"""What those who decide ask about the change: the topics under which a decision page has what was measured."""

from __future__ import annotations

from enum import StrEnum


class Topic(StrEnum):
    """A question about encryption that a run answers, in the order in which a decision page has them.

    ``daily``: the load, once everything is encrypted. ``capacity``: the same at given shares of what the database can
    do. ``change``: encrypting what is there, its keys' rotation, decryption. ``recovery``: starts, clean and after a
    crash. ``backup``: backups and restores. ``temporary``: what queries write aside. ``replication``: replicas.
    ``age``: the load after a long time.
    """

    DAILY = "daily"
    CAPACITY = "capacity"
    CHANGE = "change"
    RECOVERY = "recovery"
    BACKUP = "backup"
    TEMPORARY = "temporary"
    REPLICATION = "replication"
    AGE = "age"
