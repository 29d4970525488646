"""Options of ``tdelta run``. Each is declared once, as a field of `tdelta.session.declared.Options`.

From there come the flags of `run`, `plan` and `calibrate` with their help, the defaults of every engine, who is refused
what, the JSON of a stored run, the command that repeats it, what a calibration must have in common with a run, which
settings of a study were changed. docs/cli.md is generated from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tdelta.design.takes import Takes
from tdelta.engines.registry import profiles
from tdelta.session.groups import Group
from tdelta.session.values import Flag, Value

_SAME = object()
_DECLARED = "option"


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        flag: what is typed: ``--threads``, ``STUDY`` for an argument, or empty where nothing can be.
        value: its kind of value.
        about: what it is, for people.
        default: its value where it is not typed.
        open_loop: its default with ``--rate``, where that is another.
        shown: the default in words, where writing its value would not say it.
        group: the heading under which it is listed.
        takes: which engines take it; None where every engine does.
        also: a second field that the same flag sets.
        decides_trial: whether it decides what a trial is, so that a calibration must have it in common with a run.
        calibrates: whether ``tdelta calibrate`` takes it; it does, if it decides what a trial is.
        of_pilot: whether ``tdelta plan`` takes it for its pilot.
        of_study: whether changing it changes what a study is.
        decides_defaults: whether the defaults of other options hang on it.
        name: the field's name, by which JSON and Python have it.
    """

    flag: str
    value: Value
    about: str
    default: Any = None
    open_loop: Any = _SAME
    shown: str = ""
    group: Group = Group.ADVANCED
    takes: Takes | None = None
    also: str = ""
    decides_trial: bool = False
    calibrates: bool = False
    of_pilot: bool = True
    of_study: bool = True
    decides_defaults: bool = False
    name: str = ""

    @property
    def has_open_loop_default(self) -> bool:
        return self.open_loop is not _SAME

    @property
    def default_words(self) -> str:
        """The default for people, of engines and open loops too; empty where there is nothing to say."""
        is_written = self.default is not None and not isinstance(self.value, Flag) and not self.value.is_repeated
        usual = self.shown or (self.value.write(self.default) if is_written else "")
        open_loop = [("with --rate", self.open_loop)] if self.has_open_loop_default else []
        others = (*self._of_engines(), *open_loop)
        words = [f"{self.value.write(default)} {where}" for where, default in others]
        return "; ".join([usual, *words] if usual else words)

    def words(self, value: Any) -> list[str]:
        """The words of a command line that give the option this value; an argument has no flag."""
        flag = self.flag if self.flag.startswith("--") else None
        return [word for text in self.value.texts(value) for word in (flag, text) if word is not None]

    def fields(self, parsed: Any) -> dict[str, Any]:
        """A request's fields from what was parsed: two of some options."""
        found = self.value.gathered(parsed)
        return dict(zip((self.name, self.also), found, strict=True)) if self.also else {self.name: found}

    def _of_engines(self) -> Iterator[tuple[str, Any]]:
        """The defaults of engines that have another one, each with where it is so."""
        own = {one.product: one.defaults[self.name] for one in profiles() if self.name in one.defaults}
        all_servers = {one.product for one in profiles() if one.is_server}
        for default in dict.fromkeys(own.values()):
            having = {product: None for product, value in own.items() if value == default}
            yield "on a server" if having.keys() == all_servers else f"on {', '.join(having)}", default

    @property
    def help_text(self) -> str:
        return f"{self.about}  [{self.default_words}]" if self.default_words else self.about


def option(flag: str, value: Value, about: str, default: Any = None, *, compare: bool = True, **more: Any) -> Any:
    """Declare an option: a field of a record, whose value is always given.

    Args:
        flag: what is typed.
        value: its kind of value.
        about: what it is, for people.
        default: its value where it is not typed.
        compare: whether two requests differ where it does.
        more: what else an `Option` says.
    """
    return dataclasses.field(compare=compare, metadata={_DECLARED: Option(flag, value, about, default, **more)})


def options_of(kind: type[Any]) -> Iterator[Option]:
    for field in dataclasses.fields(kind):
        yield dataclasses.replace(field.metadata[_DECLARED], name=field.name)
