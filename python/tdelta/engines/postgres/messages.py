"""What is said of PostgreSQL alone: the English, by code."""

from __future__ import annotations

from typing import ClassVar

from tdelta.messages import Refusal

_REFUSALS = {
    "no-gocryptfs": (
        "PostgreSQL encrypts nothing itself, and gocryptfs, which would encrypt the files under it, is not installed:"
        " apt-get install gocryptfs, or name your own encrypted folder with --encrypted-dir"
    ),
    "no-fuse": (
        "gocryptfs needs {device}, which this user cannot open: modprobe fuse, or start the container with --device"
        " /dev/fuse --cap-add SYS_ADMIN, or name your own encrypted folder with --encrypted-dir"
    ),
}


class PostgresRefusal(Refusal):
    """Why something cannot be done with PostgreSQL, and what to do."""

    __slots__ = ()
    TEMPLATES: ClassVar = _REFUSALS
