"""Files for importers: the fixtures, variants of them, and what is read from either."""

from pathlib import Path

import pytest

from tdelta.errors import ImportFault
from tdelta.importers.importer import Importer, Naming
from tdelta.importers.reading import FileSource
from tdelta.messages import Refusal
from tdelta.records.observed import Figure, Group, Observation, Series, Summary

FIXTURES = Path(__file__).parents[2] / "data/importers"
PLAIN = Naming("plain")


def only(importers: tuple[Importer, ...], path: Path) -> Importer:
    found = [importer for importer in importers if importer.recognizes(FileSource(path))]
    assert len(found) == 1, f"{path.name}: {[importer.name for importer in found]}"
    return found[0]


def read(importers: tuple[Importer, ...], path: Path, naming: Naming = PLAIN) -> list[Observation]:
    return list(only(importers, path).read(FileSource(path, path.name), naming))


def faulty(importers: tuple[Importer, ...], path: Path) -> tuple[list[Observation], tuple[Refusal, ...]]:
    kept: list[Observation] = []
    importer = only(importers, path)
    with pytest.raises(ImportFault) as raised:
        kept.extend(importer.read(FileSource(path, path.name), PLAIN))
    return kept, raised.value.refusals


def written(folder: Path, text: str | bytes, name: str = "given") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def changed(folder: Path, fixture: str, old: str, new: str) -> Path:
    text = (FIXTURES / fixture).read_text(encoding="utf-8")
    assert old in text
    return written(folder, text.replace(old, new, 1), Path(fixture).name)


def summaries(observations: list[Observation]) -> dict[str, Summary]:
    return {it.group.transaction: it for it in observations if isinstance(it, Summary)}


def figures(observations: list[Observation]) -> dict[Group, float]:
    return {it.group: it.value for it in observations if isinstance(it, Figure)}


def series(observations: list[Observation]) -> list[Series]:
    return [it for it in observations if isinstance(it, Series)]
