"""What of a twin's encryption in force is not as it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tdelta.messages import Detail


def settings_fault(
    found: Mapping[str, str], expected: Mapping[str, str], normal: Callable[[str], str] = str
) -> Detail | None:
    """The settings that are not in force as expected; None where all are.

    Args:
        normal: brings values of both to one form.
    """
    differing = [name for name, value in expected.items() if normal(found[name]) != normal(value)]
    if not differing:
        return None
    words = (f"{name} is {found[name] or 'nothing'}, expected {expected[name] or 'nothing'}" for name in differing)
    return Detail.of("settings-not-in-force", settings=", ".join(differing), differences="; ".join(words))
