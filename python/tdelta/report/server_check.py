"""The output of ``tdelta check-servers``: how an adapter did, ability by ability, fit to be sent to maintainers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tdelta.document.blocks import Block, Cell, Listing, Paragraph, Table, columns
from tdelta.document.quantities import duration
from tdelta.records.server_check import Outcome, ServerCheck, ServerCheckStep
from tdelta.report.values import record_values

SERVER_CHECK_SCHEMA = "tdelta.check-servers/1"
_STATES = {Outcome.PASSED: "good", Outcome.FAILED: "bad", Outcome.NOT_TRIED: "quiet"}
_NO_DATA = (
    "can be sent to us: it has no rows, and names, addresses, paths and passwords were removed. Read it before you send"
    " it: it quotes messages of the servers."
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


def server_check_blocks(found: ServerCheck, report: Path) -> Iterator[Block]:
    """The headline, a line for each ability, and what is wrong with those that did not pass."""
    yield Paragraph(_headline(found), "lead")
    yield Paragraph(_with(found), "note")
    rows = [
        (
            step.ability,
            Cell(step.outcome.value, _STATES.get(step.outcome, "")),
            "" if step.outcome is Outcome.NOT_TRIED else f"{step.seconds:.1f}",
            "; ".join(f"{name} {value}" for name, value in step.found.items()),
        )
        for step in found.steps
    ]
    yield Table("Abilities", columns("", "seconds", "found", texts=("", "found")), rows, name="ability")
    refused = [(step, refusal) for step in found.steps for refusal in step.refusals]
    for kind, is_failed in (("faults", True), ("cautions", False)):
        texts = [("", f"{s.ability}: {r}") for s, r in refused if (s.outcome is Outcome.FAILED) is is_failed]
        yield Listing(texts, kind)
    yield Paragraph(f"{report} {_NO_DATA}")


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


def _step_values(step: ServerCheckStep) -> dict[str, object]:
    """A step, with the reasons as codes and texts: parameters of refusals are not repeated."""
    reasons = [{"code": one.code, "text": str(one)} for one in step.refusals]
    return record_values(step) | {"reasons": reasons}
