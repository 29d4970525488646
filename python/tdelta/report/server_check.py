"""The output of ``tdelta check-servers``: how an adapter did, ability by ability, fit to be sent to maintainers."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.document.quantities import duration
from tdelta.records.server_check import Outcome, ServerCheck, ServerCheckStep
from tdelta.report.drawing import draw, paragraph, plain_table
from tdelta.report.values import record_values

SERVER_CHECK_SCHEMA = "tdelta.check-servers/1"
_STYLES = {Outcome.PASSED: "green", Outcome.FAILED: "bold red", Outcome.NOT_OFFERED: "yellow", Outcome.NOT_TRIED: "dim"}
_NO_DATA = (
    "This report can be sent: it has no rows, and names, addresses, paths and passwords were taken out. Read it before"
    " you send it all the same: words of the servers stand in it."
)


def server_check_document(found: ServerCheck, exit_code: int) -> dict[str, object]:
    values = record_values(found)
    steps = [_step_values(step) for step in found.steps]
    return {
        "schema": SERVER_CHECK_SCHEMA,
        "exit_code": exit_code,
        "is_passed": found.is_passed,
        **values,
        "steps": steps,
    }


def server_check_text(found: ServerCheck, width: int, *, color: bool = False) -> str:
    """The headline, a line for each ability, and what is wrong with those that did not pass."""
    table = plain_table((("ability", False), ("", False), ("seconds", True), ("found", False)))
    for step in found.steps:
        seen = "; ".join(f"{name} {value}" for name, value in step.found.items())
        table.add_row(step.ability, Text(step.outcome.value, style=_STYLES[step.outcome]), _seconds(step), seen)
    parts: list[Text | Table] = [*paragraph(_headline(found), width, "bold"), *paragraph(_with(found), width, "dim")]
    parts += [Text(), table]
    if said := [text for step in found.steps for text in _why(step, width)]:
        parts += [Text(), *said]
    return draw([*parts, Text(), *paragraph(_NO_DATA, width)], width, color=color)


def _headline(found: ServerCheck) -> str:
    what = " ".join(filter(None, (found.product or found.engine, " and ".join(dict.fromkeys(found.versions)))))
    counts = {outcome: found.count(outcome) for outcome in Outcome}
    if found.is_passed:
        said = f"The check passed on {what}: {counts[Outcome.PASSED]} of {len(found.steps)} abilities passed"
    else:
        said = f"The check failed on {what}: {counts[Outcome.FAILED]} of {len(found.steps)} abilities failed"
    others = [f"{counts[one]} {one.value}" for one in (Outcome.NOT_OFFERED, Outcome.NOT_TRIED) if counts[one]]
    return ", ".join((said, *others)) + "."


def _with(found: ServerCheck) -> str:
    system = ", ".join(f"{name} {version}" for name, version in found.system.items())
    client = f"client: {found.client}; " if found.client else ""
    return f"{client}{system}; {duration(found.seconds)}"


def _seconds(step: ServerCheckStep) -> str:
    return "" if step.outcome is Outcome.NOT_TRIED else f"{step.seconds:.1f}"


def _why(step: ServerCheckStep, width: int) -> list[Text]:
    style = _STYLES[step.outcome]
    return [
        text for said in step.refusals for text in paragraph(f"- {step.ability}: {said}", width, style, indent="  ")
    ]


def _step_values(step: ServerCheckStep) -> dict[str, object]:
    """A step, with the reasons as codes and texts: parameters of refusals are not repeated."""
    reasons = [{"code": one.code, "text": str(one)} for one in step.refusals]
    return record_values(step) | {"reasons": reasons}
