from dataclasses import replace

import pytest

from support import samples as s
from tdelta.messages import Caution, Reason
from tdelta.records import Condition, RunResult
from tdelta.report.formats.rows import Answered

BEGUN = 1_795_632_029.0

NASTY = 'a|b\\`c` <script>&amp; *x* _y_ [z](http://w) "q" \x00\x1b[31m\ud800 @owner $m$ #1 ~s~ ]]> - +1'


def answered(result: RunResult, **changes: object) -> Answered:
    return replace(Answered(result, 3, BEGUN), **changes)  # type: ignore[arg-type]


def nasty(result: RunResult) -> RunResult:
    """The same with such a text wherever a user's or another program's may come to stand."""

    def renamed(of: Condition) -> Condition:
        return replace(of, levels=tuple((n, NASTY if n == "cipher" and v != "none" else v) for n, v in of.levels))

    return replace(
        result,
        settings=replace(
            result.settings, workload=NASTY, conditions=tuple(renamed(c) for c in result.settings.conditions)
        ),
        verdicts=tuple(
            replace(v, condition=renamed(v.condition), reasons=(Reason.verbatim(NASTY),)) for v in result.verdicts
        ),
        cautions=(Caution.verbatim(NASTY),),
        versions={**result.versions, "library under test": NASTY},
    )


@pytest.fixture
def strange() -> Answered:
    return answered(nasty(s.slower()))
