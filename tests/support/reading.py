"""Reads a page as a browser would: elements in order, and nothing that does not close."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "input", "img"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str | None]
    within: tuple[str, ...]
    words: str = ""


@dataclass
class Reading(HTMLParser):
    elements: list[Element] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = Element(tag, dict(attrs), tuple(e.name for e in self._open))
        self.elements.append(found)
        if tag not in _VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs), tuple(e.name for e in self._open)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].name != tag:
            self.faults.append(f"</{tag}> at {self.getpos()} closes {[e.name for e in self._open[-1:]]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for found in self._open:
            found.words += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, name: str, **attributes: str) -> list[Element]:
        return [
            e
            for e in self.elements
            if e.name == name
            and all(e.attributes.get(k.rstrip("_").replace("_", "-")) == v for k, v in attributes.items())
        ]

    def text(self, name: str) -> list[str]:
        return [" ".join(e.words.split()) for e in self.all(name)]


def read(page: str) -> Reading:
    reading = Reading()
    reading.feed(page)
    reading.close()
    return reading


def outline(page: str) -> str:
    """The text of a page, one block a line: headings, paragraphs, rows of tables; of figures their descriptions."""
    reading = read(page)
    lines = []
    for e in reading.elements:
        words = re.sub(r"\s+", " ", e.words).strip()
        if e.name == "desc":
            lines.append(f"[figure] {words}")
        elif e.name in ("h1", "h2", "h3"):
            lines.append(f"\n{'#' * int(e.name[1])} {words}")
        elif e.name in ("p", "li", "dt", "dd", "caption", "figcaption", "footer", "code") and "svg" not in e.within:
            lines.append(words)
        elif e.name == "tr":
            lines.append(" | ".join(_cells(reading, e)))
    return "\n".join(line for line in lines if line.strip()) + "\n"


def _cells(reading: Reading, row: Element) -> list[str]:
    at = next(i for i, e in enumerate(reading.elements) if e is row)
    cells = []
    for e in reading.elements[at + 1 :]:
        if e.name == "tr":
            break
        if e.name in ("th", "td"):
            cells.append(" ".join(e.words.split()))
        elif "tr" not in e.within:
            break
    return cells
