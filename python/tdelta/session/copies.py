"""The same figures in two files: a copy is no second run, and would make an interval narrow out of nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tdelta.messages import Caution
from tdelta.records import Figure, Observation, Origin

_NOWHERE = Origin("", "")


@dataclass(frozen=True, slots=True)
class Distinct:
    """What is left without copies, what was left out, and files that are alike though of different conditions."""

    observations: tuple[Observation, ...]
    left_out: tuple[Caution, ...]
    cautions: tuple[Caution, ...]


def without_copies(observations: Sequence[Observation]) -> Distinct:
    """Leave out a file that holds, figure for figure, what an earlier file of the same conditions holds.

    A single bare figure may be the same by chance and is kept. The same figures under another condition are kept, too,
    and told: whoever compares a file with itself may want to.
    """
    files: dict[str, list[Observation]] = {}
    for one in observations:
        files.setdefault(one.origin.file, []).append(one)
    seen: dict[str, str] = {}
    left_out: dict[str, Caution] = {}
    cautions = []
    for file, found in files.items():
        if len(found) == 1 and isinstance(found[0], Figure):
            continue
        earlier = seen.setdefault(_signature(found, has_condition=True), file)
        alike = seen.setdefault(_signature(found, has_condition=False), file)
        if earlier != file:
            left_out[file] = Caution.of("copy-left-out", other=earlier).at(file)
        elif alike != file:
            cautions.append(Caution.of("copy-suspected", file=file, other=alike))
    kept = tuple(one for one in observations if one.origin.file not in left_out)
    return Distinct(kept, tuple(left_out.values()), tuple(cautions))


def _signature(found: Sequence[Observation], *, has_condition: bool) -> str:
    """All of a file's figures in any order, without where they were read and which run they are said to be of."""

    def bare(one: Observation) -> Observation:
        condition = one.group.condition if has_condition else ""
        return replace(one, group=replace(one.group, condition=condition, run=""), origin=_NOWHERE)

    return f"{has_condition} {sorted(repr(bare(one)) for one in found)}"
