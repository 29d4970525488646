"""``tdelta plan``: how long must I measure here to tell 2%?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tdelta.cli.help import Command, common_option
from tdelta.cli.output import BadValue, Mistyped, drawn_progress, show, typed_flags
from tdelta.cli.run import request_of
from tdelta.cli.units import Typed, click_options
from tdelta.inputs import out_of_range, unexpected
from tdelta.messages import Refusal
from tdelta.records import Metric
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.studies import studies
from tdelta.session.values import Duration, Percent

if TYPE_CHECKING:
    from tdelta.inference.instrument.prospects import PlanQuery
    from tdelta.records.instrument import Prospect

_LEAST_ASSURANCE = 0.5
_MOST_ASSURANCE = 0.99
_PILOT_OPTIONS = click_options(option for option in OPTIONS.values() if option.of_pilot)

_OF_STORED_RUNS = frozenset({"metric", "store"})
"""Options of a run that also go with stored runs."""


@click.command(cls=Command)
@click.argument("sources", nargs=-1, metavar="[RUN]...")
@common_option(
    "--effect",
    "effects",
    type=Typed(Percent()),
    multiple=True,
    help="Overhead the run should be able to detect; repeatable.  [a list]",
)
@common_option(
    "--tolerance",
    "tolerances",
    type=Typed(Percent()),
    multiple=True,
    help="Differences below this count as none; repeatable.  [a list]",
)
@common_option(
    "--assurance",
    metavar="CHANCE",
    default="0.8",
    help="Chance of a right decision, 0.5 to 0.99 or a percentage.  [0.8]",
)
@common_option("--max-time", "max_seconds", type=Typed(Duration()), help="Longest run you would accept.  [no limit]")
@common_option(
    "--pilot-time",
    "pilot_seconds",
    type=Typed(Duration()),
    help="Wall clock of a pilot, set-up included.  [2m; 15m on a server]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON (docs/json.md).")
def plan(
    sources: tuple[str, ...],
    effects: tuple[float, ...],
    tolerances: tuple[float, ...],
    assurance: str,
    max_seconds: float | None,
    pilot_seconds: float | None,
    as_json: bool,
    **given: object,
) -> None:
    """Estimate how long a run must measure here to detect an overhead, and how certain that is.

    From stored RUNs (an id, the beginning of one, or `last`), or, without RUN, from a pilot: short runs of identical
    unencrypted copies, with options of `tdelta run`. A study's name in place of RUN makes a pilot for that study.

    Example: tdelta plan

    Example: tdelta plan last --effect 2% --tolerance 1%

    Example: tdelta plan --threads 4 --max-time 30m
    """
    from tdelta.inference.instrument.prospects import PlanQuery
    from tdelta.report.plan import plan_blocks, plan_document

    asked = PlanQuery(
        effects=tuple(sorted(set(effects))),
        tolerances=tuple(sorted(set(tolerances))),
        assurance=_assurance(assurance),
        max_seconds=max_seconds,
    )
    if wrong := [tolerance for tolerance in tolerances if tolerance <= 0]:
        raise BadValue(out_of_range("the tolerance", "above 0%", f"{wrong[0]:.0%}"), param_hint="'--tolerance'")
    known = {study.name for study in studies()}
    study = sources[0] if len(sources) == 1 and sources[0] in known else None
    if sources and study is None:
        found = _from_runs(sources, asked, given, pilot_seconds)
    else:
        found = _from_pilot(request_of({**given, "study": study}), asked, pilot_seconds)
    show(plan_blocks(found), plan_document(found), as_json=as_json)


def _from_runs(
    sources: tuple[str, ...], asked: PlanQuery, given: dict[str, object], pilot_seconds: float | None
) -> Prospect:
    from tdelta.session.instrument.plan import from_runs

    _refuse_pilot_options(pilot_seconds)
    store, metric = given["store"], given["metric"]
    return from_runs(
        sources,
        asked,
        store if isinstance(store, Path) else None,
        None if metric is None else Metric(str(metric)),
    )


def _from_pilot(request: RunRequest, asked: PlanQuery, pilot_seconds: float | None) -> Prospect:
    from tdelta.session.instrument.plan import from_pilot

    with drawn_progress() as observer:
        return from_pilot(request, asked, observer, pilot_seconds)


def _refuse_pilot_options(pilot_seconds: float | None) -> None:
    """Stored runs are as they are."""
    ctx = click.get_current_context()
    typed = typed_flags(ctx, _PILOT_OPTIONS, _OF_STORED_RUNS)
    typed += ["--pilot-time"] if pilot_seconds is not None else []
    if typed:
        raise Mistyped(Refusal.of("conflict", one=", ".join(typed), other="a stored RUN"), ctx)


def _assurance(text: str) -> float:
    """``0.8`` or ``80%``; a bare number is a chance, which cannot be misread below 1."""
    is_percent = text.strip().endswith("%")
    try:
        chance = float(text.strip().removesuffix("%")) / (100.0 if is_percent else 1.0)
    except ValueError:
        chance = float("nan")
    if not _LEAST_ASSURANCE <= chance <= _MOST_ASSURANCE:
        expected = f"a chance from {_LEAST_ASSURANCE} to {_MOST_ASSURANCE} such as 0.8 or 80%"
        raise BadValue(unexpected(expected, repr(text)), param_hint="'--assurance'")
    return chance


plan.params += _PILOT_OPTIONS
