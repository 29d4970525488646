"""What twins lay on, where a run varies that."""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding


@dataclass(frozen=True, slots=True)
class DataSize(Finding):
    """How large one kind of twin's data was when it had been loaded and nothing else done to it: as the engine counts.

    ``condition`` is the first of those whose twins are copies of it.
    """

    FINDING = "data_sizes"

    condition: Condition
    size_bytes: int


@dataclass(frozen=True, slots=True)
class StorageFound:
    """What the folders of twins on one kind of storage were found to be.

    ``encryption`` is what the kernel's tables say that encrypts them, for people; empty where nothing does.
    ``is_image``: they lie on images in loop devices, and not in a folder. ``is_direct``: these devices pass by the page
    cache of the images. ``driver`` is what ``/proc/crypto`` has for AES-XTS, which fscrypt and LUKS use; empty where it
    lists none.
    """

    encryption: str
    is_image: bool
    is_direct: bool
    driver: str = ""


@dataclass(frozen=True, slots=True)
class StorageLayer(Finding):
    """What encrypts the twins of one condition that is judged: its storage, the engine's cipher, or both.

    ``driver`` is the kernel's of AES-XTS, empty where the kernel does not encrypt. ``in_clear`` says what the storage
    leaves in the clear, ``protects`` what it protects from; both are declared for its kind (`tdelta.design.storages`).
    """

    FINDING = "storage"

    condition: Condition
    storage: str
    encryption: str
    is_image: bool
    is_direct: bool
    driver: str
    in_clear: str
    protects: str
