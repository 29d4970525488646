"""The kinds of storage that twins can lie on: levels of the factor ``storage``, declared here and nowhere else.

How one is made is `tdelta.processes.storage`. What it leaves in the clear and what it protects from is here as well,
since it is the other half of a decision between them. A folder of the user's is a level, too: its path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tdelta.records import PLAIN_STORAGE

_WHILE_MOUNTED = "while mounted, everything to users who may read the files"
_AT_REST = "a lost or stolen disk, a copy of the device"


@dataclass(frozen=True, slots=True)
class Storage:
    """One kind of storage.

    Attributes:
        name: the level of the factor.
        in_clear: what it leaves in the clear.
        protects: what it protects from.
        seen: how `tdelta.measure.encrypted_folders` begins what it says of such a folder; empty where that is open.
        programs: what must be installed to make one.
    """

    name: str
    in_clear: str
    protects: str
    seen: str = ""
    programs: tuple[str, ...] = ()

    @property
    def is_made(self) -> bool:
        return self is not USER_FOLDER

    @property
    def encrypts(self) -> bool:
        return self.name != PLAIN_STORAGE


USER_FOLDER = Storage(
    "DIR",
    f"{_WHILE_MOUNTED}; the disk below it was not searched",
    _AT_REST,
)
"""Any folder of the user's on an encrypted file system."""

STORAGES: Mapping[str, Storage] = MappingProxyType(
    {
        one.name: one
        for one in (
            Storage(
                PLAIN_STORAGE,
                "names, sizes and times of files, and files that the engine does not encrypt",
                "other users, copies of the files, a lost disk",
            ),
            Storage(
                "fscrypt",
                f"{_WHILE_MOUNTED}; always: sizes, times and owners of files, the folder tree",
                _AT_REST,
                seen="fscrypt",
                programs=("mkfs.ext4",),
            ),
            Storage(
                "luks",
                f"{_WHILE_MOUNTED}; always: the LUKS header",
                _AT_REST,
                seen="LUKS",
                programs=("mkfs.ext4", "cryptsetup"),
            ),
            Storage(
                "gocryptfs",
                f"{_WHILE_MOUNTED}; always: sizes, times and owners of files, the folder tree",
                f"{_AT_REST}, and copies of its encrypted files in backups",
                seen="gocryptfs",
                programs=("gocryptfs",),
            ),
        )
    }
)
"""Every kind by its name, the plain one first."""


def storage_of(level: str) -> Storage:
    """The kind that a level names: one of `STORAGES`, or a folder of the user's. Raises ``KeyError`` for others."""
    return USER_FOLDER if is_user_folder(level) else STORAGES[level]


def is_user_folder(level: str) -> bool:
    return level.startswith("/")


def parse_storage(text: str) -> str:
    """A level as it is kept: a kind's name, or a folder's absolute path.

    Raises:
        ValueError: it is neither.
    """
    if "/" in text:
        return str(Path(text).expanduser().absolute())
    if text.lower() not in STORAGES:
        raise ValueError(text)
    return text.lower()
