"""XML of strangers, read by expat and bounded: no DTD, no entities, few levels, no endless tag."""

from __future__ import annotations

from collections.abc import Iterable
from xml.parsers import expat

from tdelta.importers.faults import Problems
from tdelta.inputs import too_many, unexpected
from tdelta.messages import Refusal

DEEPEST = 32


class Unusable(Exception):
    """The document is refused where the parser stands."""

    def __init__(self, said: Refusal) -> None:
        super().__init__(said)
        self.said = said


class XmlDocument:
    """A document whose elements a subclass takes as they begin and end; names are local and in lower case."""

    longest_markup: int
    """Of one tag or comment: expat holds all of it, and each attribute takes a hundred times its length."""

    def __init__(self, problems: Problems, encoding: str | None = None) -> None:
        self.problems = problems
        self.path: list[str] = []
        self._silent = 0
        self._parser = expat.ParserCreate(encoding)
        self._parser.StartDoctypeDeclHandler = self._refuse_declarations
        self._parser.EntityDeclHandler = self._refuse_declarations
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    @property
    def line(self) -> int:
        return self._parser.CurrentLineNumber

    def parse(self, pieces: Iterable[str | bytes]) -> None:
        """Whatever is wrong with the document is noted; elements before it stay."""
        try:
            for piece in pieces:
                self._silent += len(piece)
                self._parser.Parse(piece, False)
                if self._silent > self.longest_markup:
                    raise Unusable(unexpected("short tags", "one without an end"))
            self.finish()
        except Unusable as refused:
            self.problems.add(refused.said, self.line)
        except expat.ExpatError as error:
            words = expat.errors.messages.get(error.code, "no XML")
            self.problems.add(Refusal.of("invalid", kind="XML", fault=words), error.lineno)
        except (ValueError, LookupError):
            self.problems.add(unexpected("XML in a known encoding (UTF-8)", "another"), 1)

    def finish(self) -> None:
        self._parser.Parse(b"", True)

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins; `path` is that of its parent."""

    def end(self, name: str) -> None:
        """An element ends; `path` is that of its parent."""

    def text(self, text: str) -> None:
        """A part of the text of the last element of `path`."""

    def _refuse_declarations(self, *_declared: object) -> None:
        raise Unusable(unexpected("results only", "a document type or entity"))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._silent = 0
        local = name.rpartition(":")[2].lower()
        if len(self.path) >= DEEPEST:
            raise Unusable(too_many("levels of elements", DEEPEST))
        self.begin(local, attributes)
        self.path.append(local)

    def _end(self, _name: str) -> None:
        self._silent = 0
        self.end(self.path.pop())

    def _characters(self, text: str) -> None:
        self._silent = 0
        self.text(text)
