"""Which cipher a server really starts for its pages: observed in a run of its own, never while anything is measured.

A preload (``crates/evp-count``) counts what the server starts in OpenSSL, by cipher and direction. What InnoDB is asked
for and what it does can differ: MariaDB derives a key of 128 bits for its pages, whatever the key it is given.

Limits: only OpenSSL as a shared library is seen. A server that carries its own, or encrypts by code of its own, shows
no calls, and that is said as "not observed", not as "not encrypted".
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tdelta.driver.evp_calls import environment, read


@dataclass(frozen=True, slots=True)
class CipherCalls:
    encrypts: int
    decrypts: int

    @property
    def all(self) -> int:
        return self.encrypts + self.decrypts


class Watched(Protocol):
    """A server that runs under observation. Each is what the caller knows how to do with it."""

    def work(self) -> None:
        """Have it decrypt and encrypt pages: read a table from the disk, change some of it, write that."""


Start = Callable[[Mapping[str, str]], AbstractContextManager[Watched]]
"""Starts a server with these variables added to its environment, and ends it behind the block."""


def observe(start: Start, folder: Path) -> dict[str, CipherCalls]:
    """What a server starts in OpenSSL while it works, by the cipher's name there.

    What it starts before (opening its log and its tables) is left out.

    Args:
        start: starts the server; it is ended here.
        folder: where the counts are kept meanwhile.

    Returns:
        The ciphers that were started, most often first; none where nothing was observed.

    Raises:
        EngineUnavailable: the preload is not in this installation, or cannot be named.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix="counts-") as inside:
        counts = Path(inside, "evp")
        with start(environment(counts)) as server:
            before = read_counts(counts)
            server.work()
            after = read_counts(counts)  # while it runs: what it does to stop is not what is asked
    return _since(before, after)


def read_counts(path: Path) -> dict[str, CipherCalls]:
    found: dict[str, CipherCalls] = {}
    for (name, kind, direction), tally in read(path).tallies.items():
        if kind == "cipher":
            before = found.get(name, CipherCalls(0, 0))
            encrypts, decrypts = (tally.starts, 0) if direction == "encrypt" else (0, tally.starts)
            found[name] = CipherCalls(before.encrypts + encrypts, before.decrypts + decrypts)
    return found


def describe_calls(calls: Mapping[str, CipherCalls]) -> str:
    if not calls:
        return "not observed"
    return ", ".join(f"{name} {found.all:,} times" for name, found in calls.items())


def _since(before: Mapping[str, CipherCalls], after: Mapping[str, CipherCalls]) -> dict[str, CipherCalls]:
    none = CipherCalls(0, 0)
    more = {
        name: CipherCalls(
            now.encrypts - before.get(name, none).encrypts, now.decrypts - before.get(name, none).decrypts
        )
        for name, now in after.items()
    }
    seen = {name: calls for name, calls in more.items() if calls.all}
    return dict(sorted(seen.items(), key=lambda one: -one[1].all))
