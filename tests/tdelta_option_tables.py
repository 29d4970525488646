"""The option tables of docs/commands.md, from the declarations of a run's options.

What is typed, its default and who takes it are derived; the words of the last column are kept where the page has some,
and are what ``--help`` says where it has none. ``TDELTA_UPDATE_GOLDEN=1`` writes the page anew (``tests/unit/cli``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tdelta.session.groups import Group
from tdelta.session.options import Option
from tdelta.session.request import OPTIONS

HEAD = "| option | default | only | |\n|---|---|---|---|\n"
_ROW = re.compile(r"^\| `(--[a-z-]+)[^\n]* \| ([^\n|]*(?:\\\|[^\n|]*)*) \|$", re.MULTILINE)
TAKEN: dict[str, Callable[[Option], bool]] = {
    "run": lambda _: True,
    "calibrate": lambda option: option.decides_trial or option.calibrates,
    "plan": lambda option: option.of_pilot,
    "init": lambda option: option.name not in ("engine", "labels"),
}
"""Which of a run's options a command takes."""


def generated(page: str) -> str:
    """The page with all that is generated of it written anew."""
    for name in TAKEN:
        begin, end = f"<!-- options of {name}: generated -->\n", "<!-- end -->"
        before, _, rest = page.partition(begin)
        old, _, after = rest.partition(end)
        taken = [option for option in OPTIONS.values() if option.flag.startswith("--") and TAKEN[name](option)]
        page = f"{before}{begin}{_table(taken, old) if name == 'run' else _listed(taken)}{end}{after}"
    return page


def _table(options: Iterable[Option], old: str) -> str:
    words, taken = dict(_ROW.findall(old)), list(options)
    parts = []
    for group in Group:
        rows = [_row(one, words.get(one.flag, _words(one))) for one in taken if one.group is group]
        parts += [f"{group.value}:\n\n{HEAD}{''.join(rows)}"] if rows else []
    return "\n".join(parts)


def _row(option: Option, words: str) -> str:
    value = option.value.metavar or "|".join(getattr(option.value, "names", ()))
    typed = f"{option.flag} {value}".strip().replace("|", r"\|")
    return f"| `{typed}` | {_default(option)} | {option.takes.value if option.takes else ''} | {words} |\n"


def _default(option: Option) -> str:
    parts = option.default_words.split("; ") if option.default_words else []
    usual = option.shown.split("; ")
    return "; ".join(part if part in usual else re.sub(r"^\S+", r"`\g<0>`", part) for part in parts)


def _words(option: Option) -> str:
    about = option.about.rstrip(".").replace("|", r"\|")
    return about[0].lower() + about[1:]


def _listed(options: Iterable[Option]) -> str:
    words = ", ".join(f"`{option.flag}`" for option in options)
    lines, line = [], "As for [`tdelta run`](#tdelta-run):"
    for word in words.split(" "):
        if len(line) + len(word) > 119:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}"
    return "\n".join([*lines, f"{line}."]) + "\n"
