"""The colours of the page, by theme: one accent, greys, and an alarm that is used for nothing but alarms.

A test computes the contrast of every pair of text and ground that the style sheet uses (at least 4.5 to 1, as WCAG 2.2
asks of text, success criterion 1.4.3) and of marks (3 to 1, 1.4.11). No meaning hangs on a colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "panel": "#f5f6f8",
    "ink": "#16191d",
    "muted": "#565e69",
    "rule": "#d9dde2",
    "grid": "#e8ebee",
    "plain": "#6a727d",
    "accent": "#1a56b0",
    "wash": "#dbe6f6",
    "rope": "#e9ecf0",
    "alarm": "#b3231a",
    "alarm-wash": "#fdecea",
}
DARK: Mapping[str, str] = {
    "paper": "#14171b",
    "panel": "#1d2126",
    "ink": "#e8ebee",
    "muted": "#a7b0bb",
    "rule": "#363d46",
    "grid": "#282e35",
    "plain": "#98a2ae",
    "accent": "#7fb0ff",
    "wash": "#223450",
    "rope": "#2a3037",
    "alarm": "#ff8a80",
    "alarm-wash": "#3a1f1e",
}

TEXT_PAIRS = (
    ("ink", "paper"),
    ("ink", "panel"),
    ("ink", "rope"),
    ("ink", "alarm-wash"),
    ("muted", "paper"),
    ("muted", "panel"),
    ("accent", "paper"),
    ("accent", "panel"),
    ("alarm", "paper"),
    ("alarm", "panel"),
    ("alarm", "alarm-wash"),
)
"""Text and the ground it stands on."""

MARK_PAIRS = (("accent", "paper"), ("plain", "paper"), ("accent", "rope"), ("plain", "rope"), ("accent", "wash"))
"""Marks of figures and the ground they are drawn on."""


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio")."""
    lighter, darker = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def properties(colours: Mapping[str, str]) -> str:
    """The colours as the custom properties of a style rule."""
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def _luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2), of sRGB as ``#rrggbb``."""
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: float) -> float:
    return float(channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4)
