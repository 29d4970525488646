"""Whether two conditions were given the same test, as far as their files say what the test was.

A setting in which runs of one condition differ (a log of three query modes) is a level: such runs are no repetitions of
one another. One in which a condition's runs agree and differ from the other condition's makes it another test: its
figures are shown, and decide nothing. What a file does not say of itself may be anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tdelta.inference.observed.pairing import Pair, RunName, run_name
from tdelta.messages import Caution, Reason
from tdelta.records import Level, Observation


@dataclass(frozen=True, slots=True)
class Levelled:
    """Observations whose runs each have all that their files say of the test, and what became a level of it."""

    observations: tuple[Observation, ...]
    cautions: tuple[Caution, ...]


def levelled(observations: Sequence[Observation]) -> Levelled:
    """The settings of each run with all of its figures; those that vary within a condition as levels."""
    of_runs: dict[RunName, dict[str, Level]] = {}
    for one in observations:
        of_runs.setdefault(run_name(one), {}).update(one.origin.settings)
    varying = _varying(of_runs)
    found: list[Observation] = []
    for one in observations:
        settings = of_runs[run_name(one)]
        split = [name for name in varying.get(frozenset(one.group.levels), ()) if name in settings]
        group = replace(one.group, levels=(*one.group.levels, *((name, settings[name]) for name in split)))
        found.append(replace(one, group=group, origin=replace(one.origin, settings=tuple(settings.items()))))
    names = dict.fromkeys(name for of in varying.values() for name in of)
    said = (Caution.of("tests-as-levels", settings=", ".join(names)),) if names else ()
    return Levelled(tuple(found), said)


def _varying(of_runs: Mapping[RunName, Mapping[str, Level]]) -> dict[frozenset[tuple[str, Level]], tuple[str, ...]]:
    """At which levels runs of one condition differ in which settings: as few as tell them apart."""
    places: dict[frozenset[tuple[str, Level]], list[tuple[str, Mapping[str, Level]]]] = {}
    for (condition, _, levels), settings in of_runs.items():
        places.setdefault(levels, []).append((condition, settings))
    return {levels: _telling_apart(runs) for levels, runs in places.items()}


def _telling_apart(runs: Sequence[tuple[str, Mapping[str, Level]]]) -> tuple[str, ...]:
    chosen: list[str] = []
    for name in dict.fromkeys(name for _, settings in runs for name in settings):
        seen: dict[object, set[Level]] = {}
        for condition, settings in runs:
            if name in settings:
                seen.setdefault((condition, *(settings.get(it) for it in chosen)), set()).add(settings[name])
        if any(len(values) > 1 for values in seen.values()):
            chosen.append(name)
    return tuple(chosen)


def difference(pair: Pair) -> Reason | None:
    """What the files say of the test that differs between the two conditions; None where nothing does."""
    words = "; ".join(_differing(pair))
    return Reason.of("tests-differ", settings=words) if words else None


def _differing(pair: Pair) -> Iterator[str]:
    sides = [_said(runs) for runs in (pair.baseline_runs, pair.condition_runs)]
    for name, values in sides[0].items():
        others = sides[1].get(name, values)
        if not values & others:
            yield f"{name} {_listed(values)} of {pair.baseline}, {_listed(others)} of {pair.condition}"


def _said(runs: Sequence[Observation]) -> dict[str, set[Level]]:
    found: dict[str, set[Level]] = {}
    for run in runs:
        for name, value in run.origin.settings:
            found.setdefault(name, set()).add(value)
    return found


def _listed(values: set[Level]) -> str:
    return " and ".join(sorted(map(str, values)))
