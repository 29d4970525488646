"""Where the project file of a folder is; looked for by every `tdelta run`, so nothing is imported for it."""

from __future__ import annotations

from pathlib import Path

FILE = "tdelta.toml"


def found_above(folder: Path) -> Path | None:
    """The project file of a folder: there, or in the nearest folder above."""
    for place in (folder, *folder.parents):
        if (place / FILE).is_file():
            return place / FILE
    return None
