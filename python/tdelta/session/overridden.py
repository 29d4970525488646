"""Which settings of a study a run has changed."""

from __future__ import annotations

from collections.abc import Iterator

from tdelta.session.request import OPTIONS, RunRequest


def overridden(request: RunRequest) -> tuple[str, ...]:
    """Which of the study's settings the request has changed, in words: ``threads 1 instead of 4``."""
    if request.tested.study is None:
        return ()
    tested = request.tested
    original = {"study": tested.study, "engine": tested.engine, "scale": tested.scale}
    if tested.baseline is not None:
        original |= {"baseline": tested.baseline, "encrypted": tested.encrypted}
    return tuple(_changes(request, RunRequest(**original)))


def _changes(request: RunRequest, original: RunRequest) -> Iterator[str]:
    now, then = request.values, original.values
    for factor in dict.fromkeys((*then["vary"], *now["vary"])):
        levels = [_levels(values["vary"].get(factor), values.get(factor)) for values in (now, then)]
        if levels[0] != levels[1]:
            yield f"{_words(factor)} {levels[0]} instead of {levels[1]}"
    for name, option in OPTIONS.items():
        is_left_to_the_run = then[name] is None and isinstance(
            now[name], bool
        )  # a B/B twin, where there is room for one
        if option.of_study and now[name] != then[name] and name not in now["vary"] and not is_left_to_the_run:
            yield f"{_words(name)} {now[name]} instead of {then[name]}"


def _levels(varied: tuple[object, ...] | None, fixed: object) -> str:
    if varied:
        return ", ".join(map(str, varied))
    return "not varied" if fixed is None else str(fixed)


def _words(name: str) -> str:
    return name.removesuffix("_seconds").removesuffix("_bytes").replace("_", " ")
