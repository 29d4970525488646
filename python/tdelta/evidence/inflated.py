"""What compressed pages of tables hold, laid out anew in memory so that it can be searched as files are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Inflate: TypeAlias = Callable[[bytes], bytes]
"""What was in a page before it was compressed; nothing of one that was not, or that is encrypted."""

PAGE_BYTES = 16 << 10
_PAGES_AT_ONCE = 4096
"""64 MiB of pages in memory at most."""


@contextmanager
def inflated_parts(descriptor: int, inflate: Inflate) -> Iterator[Iterator[str]]:
    """Within the block: paths of files in memory, each with the next pages of an open file as they were, one at a time.

    A marker never lies across two pages, which are between others with headers.
    """
    memory = os.memfd_create("pages", os.MFD_CLOEXEC)
    try:
        yield _parts(descriptor, inflate, memory)
    finally:
        os.close(memory)


def _parts(descriptor: int, inflate: Inflate, memory: int) -> Iterator[str]:
    position = 0
    while chunk := os.pread(descriptor, PAGE_BYTES * _PAGES_AT_ONCE, position):
        position += len(chunk)
        os.ftruncate(memory, 0)
        os.lseek(memory, 0, os.SEEK_SET)
        for at in range(0, len(chunk), PAGE_BYTES):
            if part := inflate(chunk[at : at + PAGE_BYTES]):
                os.write(memory, part)
        yield f"/proc/self/fd/{memory}"
