"""Bands beyond a sweep against what simulated systems do there; benches/scaling.py has ten times as many."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from calibration import cores, scaling
from calibration.scaling import Family, held

SYSTEMS = 4


@pytest.mark.parametrize(
    ("families", "names"),
    [
        (scaling.FAMILIES, ("constant", "exponential", "contended", "limit-beyond")),
        (cores.FAMILIES, ("constant", "fixed", "coherent", "log-beyond")),
    ],
    ids=["threads", "cores"],
)
def test_bands_of_ratios_beyond_the_sweep_hold_what_the_simulation_shows(
    families: Mapping[str, Family], names: tuple[str, ...]
) -> None:
    found = [of for name in names for one in held(families, name, SYSTEMS, seed=5) for of in one]
    assert len(found) == 2 * SYSTEMS * len(names)
    assert sum(band.band95[0] <= ratio <= band.band95[1] for band, ratio in found) >= 0.85 * len(found)
