"""Texts that tests read: what programs printed, files of a machine, workloads, dumps, long lists of words."""

import csv
import os
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def text_of(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text_of(name).splitlines()))


def state(folder: Path) -> dict[str, tuple[bytes, int, int, int]]:
    """Every file of a folder: bytes, times of modification and access, inode; taken without leaving a trace."""
    found = {}
    for path in sorted(folder.iterdir()):
        seen = path.stat()  # before the bytes are read here
        found[path.name] = (path.read_bytes(), seen.st_mtime_ns, seen.st_atime_ns, seen.st_ino)
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return found
