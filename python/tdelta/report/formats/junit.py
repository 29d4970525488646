"""JUnit XML: a test case per primary verdict and per check, so that a CI shows them as its tests.

There is no one schema; this is the part that Jenkins, GitHub's reporters and GitLab agree on: ``testsuites``,
``testsuite``, ``testcase`` with ``failure``, ``error`` or ``skipped``, whose text and ``message`` say the same, since
GitLab shows the text alone. A test case fails where the exit code does: ``over``, and ``undecided`` unless
``--undecided pass``; ``invalid`` is an error. ``slower`` passes, since it is an answer: ``--budget`` makes a gate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET  # writes only; what is read elsewhere goes through a parser of the importers'

from tdelta.document.effect import limits
from tdelta.document.labels import decision_word
from tdelta.document.quantities import estimate_text
from tdelta.document.wording import has_amount
from tdelta.records import CheckState, Decision, Verdict
from tdelta.report.answer import run_answer
from tdelta.report.formats.rows import Answered

_FAILURE, _ERROR, _SKIPPED = "failure", "error", "skipped"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot have, not even as a reference (https://www.w3.org/TR/xml/#charsets)."""


def junit(answered: Answered) -> str:
    result = answered.result
    settings = result.settings
    cases = [*_verdicts(answered), *_checks(answered)]
    counts = {"tests": str(len(cases))} | {
        counted: str(sum(case.find(kind) is not None for case in cases))
        for counted, kind in (("failures", _FAILURE), ("errors", _ERROR), ("skipped", _SKIPPED))
    }
    seconds = f"{result.counts.elapsed_seconds:.3f}"
    suites = ET.Element("testsuites", _safe({"name": "tdelta", **counts, "time": seconds}))
    suite = ET.SubElement(
        suites,
        "testsuite",
        _safe({"name": answered.name, **counts, "time": seconds, "timestamp": answered.created}),
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in (("run", settings.run_id), ("seed", str(settings.seed)), ("decision", result.decision.value)):
        ET.SubElement(properties, "property", _safe({"name": name, "value": value}))
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _printable(run_answer(result).sentence)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _verdicts(answered: Answered) -> Iterator[ET.Element]:
    for label, verdict in answered.labelled():
        case = _case(answered, "overhead", label)
        kind = _outcome(verdict.decision, answered)
        said = _said(verdict, answered)
        if kind is not None:
            _add(case, kind, verdict.decision.value, said)
        else:
            ET.SubElement(case, "system-out").text = _printable(said)
        yield case
    if not answered.result.primary:
        case = _case(answered, "overhead", "verdict")
        kind = _outcome(Decision.UNDECIDED, answered)
        _add(case, kind or _SKIPPED, Decision.UNDECIDED.value, run_answer(answered.result).sentence)
        yield case


def _outcome(decision: Decision, answered: Answered) -> str | None:
    match decision:
        case Decision.INVALID:
            return _ERROR
        case Decision.OVER:
            return _FAILURE
        case Decision.UNDECIDED:
            return _SKIPPED if answered.undecided_passes else _FAILURE
        case _:
            return None


def _said(verdict: Verdict, answered: Answered) -> str:
    word = decision_word(verdict.decision, verdict.metric)
    if has_amount(verdict):
        word = f"{word}: {estimate_text(verdict.ratio, limits(answered.result.settings))}"
    return "; ".join((word, *(reason.text for reason in verdict.reasons)))


def _checks(answered: Answered) -> Iterator[ET.Element]:
    for check in answered.result.validity:
        case = _case(answered, "check", check.check)
        if check.state is not CheckState.OK:
            # One that was not made, or whose failure makes no figure wrong, fails no job.
            kind = _ERROR if check.is_invalid else _SKIPPED
            _add(case, kind, check.state.value, f"{check.state.value}: {check.detail}")
        yield case


def _case(answered: Answered, kind: str, name: str) -> ET.Element:
    return ET.Element("testcase", _safe({"classname": f"tdelta.{answered.name}.{kind}", "name": name, "time": "0"}))


def _add(case: ET.Element, kind: str, of: str, said: str) -> None:
    ET.SubElement(case, kind, _safe({"type": of, "message": said})).text = _printable(said)


def _safe(attributes: dict[str, str]) -> dict[str, str]:
    return {name: _printable(value) for name, value in attributes.items()}


def _printable(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
