"""Bands beyond a sweep against what simulated systems do there; benches/scaling.py has ten times as many."""

from __future__ import annotations

from calibration.scaling import held

SYSTEMS = 4


def test_bands_of_ratios_beyond_the_sweep_hold_what_the_simulation_shows() -> None:
    families = ("constant", "exponential", "contended", "limit-beyond")
    found = [of for name in families for one in held(name, SYSTEMS, seed=5) for of in one]
    assert len(found) == 2 * SYSTEMS * len(families)
    assert sum(band.band95[0] <= ratio <= band.band95[1] for band, ratio in found) >= 0.85 * len(found)
