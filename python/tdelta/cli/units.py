"""Options as click has them: their kinds of values as types, and the parameters made from a table of options."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tdelta.cli.help import Option as GroupedOption
from tdelta.cli.output import BadValue
from tdelta.errors import TdeltaError
from tdelta.session.options import Option
from tdelta.session.values import Choice, Flag, PathValue, Value, WholeNumber


class Typed(click.ParamType[object]):
    """A kind of value that is read as it says itself."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self.name = value.metavar.lower()

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """Turn the text into the value, or say what was expected and found."""
        try:
            return self._value.parse(value) if isinstance(value, str) else value
        except ValueError as fault:
            (said,) = fault.args  # a refusal: see `tdelta.session.values`
            raise BadValue(said, ctx, param) from None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so; where there is none, files."""
        del ctx, param
        names = [CompletionItem(name) for name in self._value.offered() if name.startswith(incomplete)]
        return names or [CompletionItem(incomplete, type="file")]


def run_ids(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The runs that a shell offers: ``last``, and those of the store, the newest first."""
    from tdelta.store import Store

    try:
        with Store.open(ctx.params.get("store"), must_exist=True) as opened:
            found = [run.run_id for run in opened.runs()]
    except TdeltaError:
        found = []
    return [name for name in ("last", *found) if name.startswith(incomplete)]


def study_names(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The studies that a shell offers: those that are runs."""
    from tdelta.session.studies import studies

    return [study.name for study in studies() if study.runs and study.name.startswith(incomplete)]


def click_options(options: Iterable[Option]) -> list[click.Parameter]:
    """The parameters for options that are typed with a flag, in their order."""
    return [_click_option(option) for option in options if option.flag.startswith("--")]


def _click_option(option: Option) -> click.Option:
    names, value, text = [option.flag, option.name], option.value, option.help_text
    if isinstance(value, Flag):
        return GroupedOption(
            names, is_flag=True, flag_value=value.stands_for, default=None, help=text, group=option.group
        )
    return GroupedOption(
        names,
        type=_type(value),
        metavar=value.metavar or None,
        multiple=value.is_repeated,
        help=text,
        group=option.group,
    )


def _type(value: Value) -> click.ParamType[object]:
    """Click's own type where it has one, whose messages people know."""
    match value:
        case WholeNumber():
            return click.IntRange(min=value.least, max=value.most)
        case Choice():
            return click.Choice(value.names)
        case PathValue():
            return click.Path(file_okay=value.is_file, dir_okay=value.is_folder, path_type=Path)
        case _:
            return Typed(value)
