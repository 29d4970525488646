"""How far off a printed figure may be: half a unit of its last digit."""

from __future__ import annotations

import re

_DECIMALS = re.compile(r"\d*\.(\d*)(?:[eE]|$)|\d+(?:[eE]|$)")
_EXPONENT = re.compile(r"[eE]([+-]?\d{1,3})$")


def half_unit(printed: str) -> float:
    """``0.065`` may be off by 0.0005, ``15`` by a half, ``1.5e3`` by 50; 0 for what is no number plainly written."""
    text = printed.strip().lstrip("+-")
    match, exponent = _DECIMALS.match(text), _EXPONENT.search(text)
    if match is None:
        return 0.0
    return float(f"0.5e{(int(exponent[1]) if exponent else 0) - len(match[1] or '')}")
