"""A message: its code, its parameters, and how a template of the catalogue becomes a text.

Templates are those of ``str.format`` with three more specifications: ``{count:block|blocks}`` is the first word if the
number is 1, else the second; ``{share:.2g%}`` is a share in percent with significant digits; ``{metric:words}`` is a
name with spaces for underscores.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import ClassVar, Self

Parameter = str | int | float

TEXT = "text"
"""The code of a message that is a text and nothing else."""


class _Templates(string.Formatter):
    def format_field(self, value: object, format_spec: str) -> str:
        if "|" in format_spec:
            one, _, many = format_spec.partition("|")
            return one if value == 1 else many
        if format_spec == "words":
            return str(value).replace("_", " ")
        if format_spec.endswith("g%") and isinstance(value, int | float):
            return f"{self.format_field(100 * value, format_spec[:-1])}%"
        text = str(super().format_field(value, format_spec))
        if "e+0" in text and text[-1] in "2345":  # 1.5e+02 per cent
            text = f"{float(text):{'+' if text.startswith('+') else ''},.0f}"
        is_negative = isinstance(value, int | float) and text.startswith("-")
        return f"\N{MINUS SIGN}{text[1:]}" if is_negative else text


_TEMPLATES = _Templates()


def fields_of(template: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in _TEMPLATES.parse(template) if name)


PLACE = "where"
"""A parameter that any message may have besides those of its template: its subject, which comes before its text."""


@dataclass(frozen=True, slots=True)
class Message:
    """A code and its parameters. Each kind of message is a subclass with its catalogue, which has the text.

    ``AGAINST_TRUST`` has the codes of those that speak against trusting an answer, worst first.
    """

    DERIVED = ("text",)
    TEMPLATES: ClassVar[Mapping[str, str]] = {}
    AGAINST_TRUST: ClassVar[tuple[str, ...]] = ()

    code: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    @classmethod
    def of(cls, code: str, /, **parameters: object) -> Self:
        """A message with these parameters; numbers of other libraries become Python's own, all else its text.

        Of one that is a message itself, or an error with refusals, the code is kept beside the text.
        """
        codes = {f"{name}_code": said for name, value in parameters.items() if (said := _code_of(value))}
        return cls(code, {name: _plain(value) for name, value in parameters.items()} | codes)

    @classmethod
    def verbatim(cls, text: str) -> Self:
        return cls(TEXT, {TEXT: text})

    def at(self, place: object) -> Self:
        """The same about a place: an option, a file and line, a server. Of several, the widest comes first."""
        if not str(place):
            return self
        inner = self.parameters.get(PLACE)
        return type(self)(self.code, {**self.parameters, PLACE: str(place) if inner is None else f"{place}: {inner}"})

    @property
    def text(self) -> str:
        """In English; the code and its parameters if the catalogue has no such code, or one with other parameters."""
        if self.code == TEXT:
            return str(self.parameters.get(TEXT, ""))
        try:
            text = _TEMPLATES.vformat(self.TEMPLATES[self.code], (), self.parameters)
        except (KeyError, ValueError):  # of a foreign file
            return f"{self.code} {dict(self.parameters)}"
        return f"{self.parameters[PLACE]}: {text}" if PLACE in self.parameters else text

    @property
    def against_trust(self) -> str | None:
        """Its text, if it speaks against trusting an answer."""
        return self.text if self.code in self.AGAINST_TRUST else None

    @property
    def severity(self) -> int:
        """Its rank among those that speak against trusting an answer, from 0, the worst; all others come last."""
        return self.AGAINST_TRUST.index(self.code) if self.code in self.AGAINST_TRUST else len(self.AGAINST_TRUST)

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash((self.code, *sorted(self.parameters.items())))


def _code_of(value: object) -> str:
    """The code of a message, or those of an error's refusals; empty of all else."""
    if isinstance(value, Message):
        return value.code
    return ", ".join(one.code for one in getattr(value, "refusals", ()))


def _plain(value: object) -> Parameter:
    match value:
        case Integral():
            return int(value)
        case Real():
            return float(value)
    return str(value)
