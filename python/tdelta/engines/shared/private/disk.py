"""What a private server's data take on the disk: now, and at most while something is done to them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from tdelta.driver.servers.recipes import Recipe
from tdelta.measure.space import allocated

_LOOK_AGAIN_SECONDS = 0.2


def allocated_bytes(folder: Path) -> int:
    """What the files below a folder take on the disk: compressed pages leave holes."""
    return sum(allocated(path) for path in folder.rglob("*"))


def kept(recipe: Recipe) -> Path:
    """The folder in which the data of a stopped server lies: encrypted files where a file system encrypts."""
    return recipe.place.data if recipe.mount is None else recipe.mount.ciphertext


class DiskPeak:
    """How much more a server's data take at most within a block than at its beginning; five looks a second."""

    def __init__(self, recipe: Recipe) -> None:
        self._folder = kept(recipe)
        self._is_over = threading.Event()
        self._before = 0
        self._most = 0

    @property
    def more_bytes(self) -> int:
        """The most so far beyond what there was, bytes."""
        return self._most - self._before

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        self._before = self._most = allocated_bytes(self._folder)
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._is_over.set()
            watcher.join()

    def _watch(self) -> None:
        while not self._is_over.wait(_LOOK_AGAIN_SECONDS):
            self._most = max(self._most, allocated_bytes(self._folder))
