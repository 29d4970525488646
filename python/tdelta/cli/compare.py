"""``tdelta compare``: two builds of a database, without encryption."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click

from tdelta.cli.help import Command, Option, dry_run_option
from tdelta.cli.output import Manner, answer_options
from tdelta.cli.run import Asked, made, typed_of
from tdelta.cli.units import Typed, click_options
from tdelta.design.factors import VERSIONS
from tdelta.session.groups import Group
from tdelta.session.options import Option as Declared
from tdelta.session.request import OPTIONS, RunRequest

_OF_ENCRYPTION = frozenset(
    {
        "study_size",
        "library",
        "server_binary",
        "encrypted",
        "assume_encrypted",
        "scope",
        "encrypted_dir",
        "key",
        "self_test",
    }
)
"""Options of `tdelta run` that a comparison of builds has no use for."""

_ABOUT = {
    "vary": "Builds to compare, server=PATH,PATH or library=NAME,PATH, and levels of other factors.",
    "baseline": "Your first server, a DSN as for `tdelta run`.",
    "bb_control": "Omit the B/B control, a second copy of the other build.",
    "inject": "Add a copy of the baseline that is slowed by this much; repeatable.",
}
"""Options that are about encryption there."""


def _options() -> Iterator[Declared]:
    for option in OPTIONS.values():
        if option.name not in _OF_ENCRYPTION:
            about = _ABOUT.get(option.name, option.about)
            yield replace(option, about=about, shown="" if option.name == "vary" else option.shown)


@click.command(
    cls=Command,
    params=click_options(_options()),
)
@click.option(
    "--other",
    cls=Option,
    group=Group.YOUR_SERVERS,
    type=Typed(OPTIONS["encrypted"].value),
    help="Your other server, to compare with it.",
    metavar="DSN",
)
@dry_run_option
@answer_options
def compare(dry_run: bool, other: object, manner: Manner, **given: object) -> int:
    """Measure whether one build of a database is faster than another; nothing is encrypted.

    The first level is the baseline. Design, checks, verdicts, budgets, history and exit codes are those of `tdelta
    run`; `tdelta run --resume` completes a comparison that was interrupted.

    Example: tdelta compare --vary library=sqlcipher,./libsqlcipher.so  # two SQLite libraries

    Example: tdelta compare --engine mariadb --vary server=/usr,/opt/mariadb  # two servers

    Example: tdelta compare --baseline DSN --other DSN  # two servers that you have

    Example: tdelta compare --engine postgres --vary server=/opt/pg17,/opt/pg18 --budget 3%  # exit code 5 if slower
    """
    typed = typed_of({**given, "encrypted": other})
    vary = typed.get("vary", {})
    assert isinstance(vary, dict)  # noqa: S101 - as `--vary` is parsed
    contrast = next((factor for factor in VERSIONS if factor in vary), VERSIONS[0])
    code, _ = made(RunRequest(**typed, contrast=contrast), Asked(manner, dry_run))
    return code
