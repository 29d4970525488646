"""The option tables of docs/commands.md, from the declarations of the commands' options.

The spelling of an option, its default and the engines that accept it are derived; the words of the last column are kept
where the page has some, and are those of ``--help`` where it has none. ``TDELTA_UPDATE_GOLDEN=1`` writes the page anew
(``tests/unit/cli``).
"""

import re
from collections.abc import Callable, Iterable

import click

from tdelta.cli.commands import entries
from tdelta.session.groups import Group
from tdelta.session.options import Option
from tdelta.session.request import OPTIONS

HEAD = "| option | default | only | |\n|---|---|---|---|\n"
_ROW = re.compile(r"^\| `(--[a-z-]+)[^\n]* \| ([^\n|]*(?:\\\|[^\n|]*)*) \|$", re.MULTILINE)
_SECTION = re.compile(r"^## `tdelta ([a-z-]+)`\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"<!-- options of [a-z-]+: generated -->.*?<!-- end -->", re.DOTALL)
_OWN_TABLE = re.compile(r"^\| option \|[^\n]*\n\|---[^\n]*\n(?:\|[^\n]*\n)+", re.MULTILINE)
_OWN_ROW = re.compile(r"^\| `(--[a-z-]+)[^`]*`(?:, `-[^`]*`)* \|(.*)$", re.MULTILINE)
_MOST_CHOICES = 5
"""More choices than these are in the words of a row."""

TAKEN: dict[str, Callable[[Option], bool]] = {
    "run": lambda _: True,
    "calibrate": lambda option: option.decides_trial or option.calibrates,
    "plan": lambda option: option.of_pilot,
    "init": lambda option: option.name not in ("engine", "labels"),
}


def generated(page: str) -> str:
    for name in TAKEN:
        begin, end = f"<!-- options of {name}: generated -->\n", "<!-- end -->"
        before, _, rest = page.partition(begin)
        old, _, after = rest.partition(end)
        taken = [option for option in OPTIONS.values() if option.flag.startswith("--") and TAKEN[name](option)]
        page = f"{before}{begin}{_table(taken, old) if name == 'run' else _listed(taken)}{end}{after}"
    return _SECTION.sub(_of_command, page)


def _of_command(section: re.Match[str]) -> str:
    """A command's section with the tables of the options that it alone declares; other text stays."""
    command = next(entry for entry in entries() if entry.name == section[1]).load()
    parts = [command, *(command.commands.values() if isinstance(command, click.Group) else ())]
    options = {
        name: param
        for part in reversed(parts)
        for param in part.params
        if isinstance(param, click.Option) and not param.hidden
        for name in param.opts
    }
    kept: list[str] = _BLOCK.findall(section[0])
    pieces = [_OWN_TABLE.sub(lambda table: _own_table(table[0], options), piece) for piece in _BLOCK.split(section[0])]
    return "".join(piece + block for piece, block in zip(pieces, [*kept, ""], strict=True))


def _own_table(table: str, options: dict[str, click.Option]) -> str:
    """The rows as their options are declared; one that no option has goes."""
    has_defaults = table.startswith("| option | default |")
    head, rule, *rows = table.splitlines()
    matches = [(row, _OWN_ROW.match(row)) for row in rows]
    kept = [
        _own_row(found[2], options[found[1]], has_defaults) for _, found in matches if found and found[1] in options
    ]
    return "\n".join([head, rule, *kept]) + "\n"


def _own_row(cells: str, option: click.Option, has_defaults: bool) -> str:
    words = sorted(option.opts, key=lambda name: not name.startswith("--"))
    typed = ", ".join(f"`{name} {_metavar(option)}".strip().replace("|", r"\|") + "`" for name in words)
    declared = _declared(option) if has_defaults else None
    if declared is not None:
        cells = re.sub(r"^(?:[^|\\]|\\.)*\|", lambda _: f" {declared} |", cells, count=1)
    return f"| {typed} |{cells}"


def _metavar(option: click.Option) -> str:
    if option.is_flag or option.count:
        return ""
    if option.metavar:
        return option.metavar
    choices = option.type.choices if isinstance(option.type, click.Choice) else ()
    return "|".join(choices) if 0 < len(choices) <= _MOST_CHOICES else "NAME" if choices else option.type.name.upper()


def _declared(option: click.Option) -> str | None:
    """The default that click declares, as the page shows it; None where there is none or it is worked out later."""
    if isinstance(option.show_default, str):
        return None
    simple = isinstance(option.default, str | int | float) and not option.is_flag
    return f"`{option.default}`" if simple else None


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
