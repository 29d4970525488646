"""How wide a text is, before any browser has seen it: on the wide side of what common sans-serif faces take.

The figures are advance widths of a wide face (DejaVu Sans), in ems; narrower faces leave a little air. Labels are laid
out with them, so that they do not run into each other whichever face a reader has.
"""

from __future__ import annotations

from tdelta.document.quantities import glued

SIZE = 13.0
"""The size of a figure's labels, px; the style sheet sets the same."""

SMALL = 12.0
"""The size of ticks and notes, px."""

_DEFAULT_EM = 0.62
_BOLD = 1.12
_EMS = {
    **dict.fromkeys("ijl.,:;'|!", 0.34),
    **dict.fromkeys("ftr()[]/-I \u00a0", 0.41),
    **dict.fromkeys("mwMW%@", 0.97),
    **dict.fromkeys("+−×±<>=≥≤…", 0.86),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ", 0.72),
}


def text_width(text: str, size: float = SIZE, *, is_bold: bool = False) -> float:
    """The width of a line of text, px, a little more than it takes in most faces."""
    ems = sum(_EMS.get(character, _DEFAULT_EM) for character in text)
    return size * ems * (_BOLD if is_bold else 1.0)


def wrapped(text: str, width: float, size: float = SIZE, most: int = 3) -> tuple[str, ...]:
    """Fold a label at its blanks into lines no wider than ``width``; what does not fit ends in ``…``.

    Args:
        width: px.
        size: px of the type.
        most: lines at most.
    """
    lines: list[str] = []
    for word in glued(" ".join(text.split())).split(" "):
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(joined, size) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    kept = lines[:most]
    if len(lines) > most:
        kept[-1] = f"{kept[-1]} …"
    return tuple(_cut(line, width, size) for line in kept)


def _cut(line: str, width: float, size: float) -> str:
    if text_width(line, size) <= width:
        return line
    while line and text_width(f"{line}…", size) > width:
        line = line[:-1]
    return f"{line}…"
