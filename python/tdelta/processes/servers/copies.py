"""Copies what a stopped server left, for a new instance: its data directory and the keys that it drew itself.

Plain reads and writes, each file flushed to the disk: an extent that two twins share would tie them together, and data
that is still on its way would be written during another twin's trial. A file that had holes has them in the copy.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from tdelta.errors import StorageFault
from tdelta.measure.private import private
from tdelta.messages import Refusal
from tdelta.processes.servers.recipes import Recipe

_CHUNK_BYTES = 1 << 24
_BLOCK_BYTES = 512


def copy_data(source: Recipe, target: Recipe) -> None:
    """Copy a stopped server's data, encrypted as it lies on the disk, into the folder of a server that is to start."""
    _copy_tree(_stored(source), _stored(target))
    _copy_tree(source.place.keys, target.place.keys)


def _stored(recipe: Recipe) -> Path:
    """Where the data lies on the disk: the encrypted files, if the data directory is a mount."""
    return recipe.mount.ciphertext if recipe.mount else recipe.place.data


def _copy_tree(source: Path, target: Path) -> None:
    """Copy a folder, file by file; what is at the target already, as a recipe wrote it, stays."""
    try:
        target.mkdir(mode=stat.S_IMODE(source.stat().st_mode), exist_ok=True)
        for entry in sorted(os.scandir(source), key=lambda entry: entry.name):
            there = target / entry.name
            if entry.is_dir(follow_symlinks=False):
                _copy_tree(Path(entry.path), there)
            elif entry.is_symlink():
                there.symlink_to(Path(entry.path).readlink())
            elif entry.is_file() and not there.exists():
                _copy_file(Path(entry.path), there)
        _flush(target)
    except OSError as error:
        raise StorageFault(
            Refusal.of("cannot-copy", source=error.filename or source, target=target, fault=error.strerror)
        ) from error


def _copy_file(source: Path, target: Path) -> None:
    with source.open("rb") as reader, private(target) as writer:
        found = os.fstat(reader.fileno())
        os.fchmod(writer.fileno(), stat.S_IMODE(found.st_mode))
        if found.st_blocks * _BLOCK_BYTES < found.st_size:
            _copy_extents(reader.fileno(), writer.fileno(), found.st_size)
        else:
            shutil.copyfileobj(reader, writer, _CHUNK_BYTES)
        writer.flush()
        os.fsync(writer.fileno())


def _copy_extents(reader: int, writer: int, size: int) -> None:
    """Copy what is not a hole, and give the copy the same length."""
    os.ftruncate(writer, size)
    position = 0
    while position < size:
        try:
            begin = os.lseek(reader, position, os.SEEK_DATA)
        except OSError:  # ENXIO: only a hole is left
            return
        position = os.lseek(reader, begin, os.SEEK_HOLE)
        _copy_range(reader, writer, begin, position)


def _copy_range(reader: int, writer: int, begin: int, end: int) -> None:
    while begin < end:
        chunk = os.pread(reader, min(_CHUNK_BYTES, end - begin), begin)
        if not chunk:
            return
        written = 0
        while written < len(chunk):
            written += os.pwrite(writer, chunk[written:], begin + written)
        begin += len(chunk)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
