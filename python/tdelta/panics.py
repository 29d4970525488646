"""Panics of the native module: defects, reported in a file that holds neither data nor keys."""

from __future__ import annotations

from tdelta import _native

_CLASS = "PanicException"
"""What PyO3 raises for a panic. It is no `Exception`, so that nothing handles it by accident."""


def panic_words(error: BaseException) -> str | None:
    """What is to be said where this exception is a panic; None where it is anything else."""
    if type(error).__name__ != _CLASS:
        return None
    report = _native.panic_report()
    where = f"{report} says where, without data or keys: please send it with what you ran" if report else "no report"
    return f"an internal error of tdelta's native module; {where}"
