"""The state of a run that an earlier version began: facts under names of their own, brought to the shape of this one's.

What is not told here has the shape that it always had.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from tdelta.profiling.recording import Recording, added
from tdelta.records import Sampled
from tdelta.store import encode

_FIELDS = {
    "fingerprint": "fingerprint",
    "library": "library",
    "database": "database",
    "calibration key": "key",
    "calibration": "trial_size",
    "observed ciphers": "ciphers",
    "page floors": "floors",
    "checks": "twins",
    "evidence": "evidence",
    "page prices": "unit_costs",
    "timed calls": "timed_calls",
    "cpu profiles": "profile",
}
"""The fields of `tdelta.session.state.RunState` by the facts that they were."""


def state_of_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a state; one that was no fact is missing."""
    found = {field: facts[fact] for fact, field in _FIELDS.items() if facts.get(fact) is not None}
    if "evidence" in found:
        found["evidence"] = {one["condition"]: one["found"] for one in found["evidence"]}
    if "profile" in found:
        found["profile"] = _profile(found["profile"])
    return found


def _profile(values: Mapping[str, Any]) -> dict[str, Any]:
    """The oldest have profiles of one round, and no more of these."""
    conditions = {one["condition"]: _sampled(one) for one in values["conditions"]}
    return {"is_given_up": True, "follows_threads": bool(conditions), **values, "conditions": conditions}


def _sampled(one: Mapping[str, Any]) -> dict[str, Any]:
    functions = encode(_functions(one["functions"]))
    return {"trials": one["trials"], "operations": one["operations"], "functions": functions}


def _functions(values: Iterable[Mapping[str, Any]]) -> tuple[Sampled, ...]:
    """Some versions kept samples of a function that spins apart; here they are one again."""
    names = [field.name for field in dataclasses.fields(Sampled)]
    found = Recording(tuple(Sampled(**{name: one[name] for name in names if name in one}) for one in values))
    return added([found]).functions
