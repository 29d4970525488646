from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from tdelta.importers.importer import Importer, Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Observation

FIXTURES = Path(__file__).parents[2] / "data" / "importers"
PLAIN = Naming("plain")

Kind = TypeVar("Kind")


def fixtures() -> list[Path]:
    return sorted(path for path in FIXTURES.rglob("*") if path.is_file() and path.name != "README.md")


def read(importer: Importer, path: Path, naming: Naming = PLAIN) -> list[Observation]:
    source = FileSource(path, path.name)
    assert importer.recognizes(source)
    return list(importer.read(source, naming))


def read_text(importer: Importer, folder: Path, text: str, naming: Naming = PLAIN) -> list[Observation]:
    path = folder / "file.txt"
    path.write_text(text, encoding="utf-8")
    return read(importer, path, naming)


def only(observations: list[Observation], kind: type[Kind]) -> Kind:
    (found,) = all_of(observations, kind)
    return found


def all_of(observations: list[Observation], kind: type[Kind]) -> list[Kind]:
    return list(_of(observations, kind))


def _of(observations: list[Observation], kind: type[Kind]) -> Iterator[Kind]:
    for observation in observations:
        if isinstance(observation, kind):
            yield observation
