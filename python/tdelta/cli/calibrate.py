"""``tdelta calibrate``: does this instrument tell the truth on this machine, and what is the least it can show?"""

from __future__ import annotations

import click

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.help import Command, common_option
from tdelta.cli.output import drawn_progress, show
from tdelta.cli.run import request_of
from tdelta.cli.units import Typed, click_options
from tdelta.session.request import OPTIONS
from tdelta.session.values import Duration, Percent

_OPTIONS = click_options(option for option in OPTIONS.values() if option.decides_trial or option.calibrates)
"""The options of `tdelta run` that decide what a trial is, how it is called slower, and where things go."""


@click.command(
    cls=Command,
    params=_OPTIONS,
)
@common_option(
    "--inject", type=Typed(Percent()), multiple=True, help="Slowdown to inject into one more copy; repeatable.  [5%]"
)
@common_option(
    "--max-time", "max_seconds", type=Typed(Duration()), help="Wall clock for all runs.  [10m; 1h on a server]"
)
@click.option("--json", "as_json", is_flag=True, help="Print every figure as JSON (docs/json.md).")
def calibrate(as_json: bool, max_seconds: float | None, **given: object) -> int:
    """Run identical copies and copies with an injected slowdown, and show what can be detected on this machine.

    Matching runs then begin with its prior for instance effects, and report that: docs/how-it-works.md.

    Example: tdelta calibrate

    Example: tdelta calibrate --threads 4 --max-time 20m
    """
    from tdelta.report.calibration import calibration_blocks, calibration_document
    from tdelta.session.instrument import calibrate as series

    request = request_of({**given, "max_seconds": max_seconds})
    if max_seconds is None:
        request = series.for_usual_time(request)
    with drawn_progress() as observer:
        found = series.calibrate_machine(request, observer)
    code = ExitCode.INTERRUPTED if found.interrupted else ExitCode.ANSWERED if found.is_valid else ExitCode.INVALID
    show(calibration_blocks(found), calibration_document(found, code), as_json=as_json)
    return code
