from pathlib import Path

import pytest

from support import samples as s
from tdelta.messages import Refusal
from tdelta.session import RunRequest, deciding
from tdelta.session.deciding import QUESTIONS, Answered, Decided, Open

from .calling import call


@pytest.mark.parametrize(("is_failed", "code"), [(True, 3), (False, 0)], ids=["failed", "late"])
def test_a_run_that_failed_leaves_a_decision_undecided(
    is_failed: bool, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = Open(QUESTIONS[2], Refusal.of("no-memory"), RunRequest(), is_failed)
    found = Decided("decide-x", (Answered(QUESTIONS[0], s.slower(), True),), (left,))
    monkeypatch.setattr(deciding, "decide", lambda *_, **__: found)
    assert call("decide", "--output", str(tmp_path / "page.html")).code == code


def test_a_currency_without_a_price_is_refused() -> None:
    assert [one.code for one in call("decide", "--currency", "EUR").refusals] == ["requires"]
