"""Which settings of a study a run has changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tdelta.session.request import OPTIONS, RunRequest


class Change(NamedTuple):
    """A setting, as it is and as the study has it; its text is for people: ``threads 1 instead of 4``."""

    name: str
    now: str
    then: str

    def __str__(self) -> str:
        return f"{_words(self.name)} {self.now} instead of {self.then}"


def overridden(request: RunRequest) -> tuple[Change, ...]:
    """Which of the study's settings the request has changed."""
    if request.tested.study is None:
        return ()
    tested = request.tested
    original = {"study": tested.study, "engine": tested.engine, "scale": tested.scale}
    if tested.baseline is not None:
        original |= {"baseline": tested.baseline, "encrypted": tested.encrypted}
    return tuple(_changes(request, RunRequest(**original)))


def _changes(request: RunRequest, original: RunRequest) -> Iterator[Change]:
    now, then = request.values, original.values
    for factor in dict.fromkeys((*then["vary"], *now["vary"])):
        levels = [_levels(values["vary"].get(factor), values.get(factor)) for values in (now, then)]
        if levels[0] != levels[1]:
            yield Change(factor, *levels)
    for name, option in OPTIONS.items():
        is_left_to_the_run = then[name] is None and isinstance(
            now[name], bool
        )  # a B/B twin, where there is room for one
        if option.of_study and now[name] != then[name] and name not in now["vary"] and not is_left_to_the_run:
            yield Change(name, str(now[name]), str(then[name]))


def _levels(varied: tuple[object, ...] | None, fixed: object) -> str:
    if varied:
        return ", ".join(map(str, varied))
    return "not varied" if fixed is None else str(fixed)


def _words(name: str) -> str:
    return name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ")
