"""Decisions put together of `support.samples`: one with an answer to most questions, one of generated rows alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support import samples as s
from tdelta.messages import Caution, Refusal
from tdelta.records import RunResult
from tdelta.report.decision import Load
from tdelta.session import RunRequest
from tdelta.session.deciding import QUESTIONS, Answered, Decided, Open, Outline, Step

NAMED = {question.name: question for question in QUESTIONS}
PEAK = Load(2000.0, 3, 0.05)
LATE = Open(NAMED["rate"], Refusal.of("decide-no-time", needed="90 s"), RunRequest(engine="mariadb"))


def decided(*others: tuple[str, RunResult], daily: RunResult | None = None, **more: Any) -> Decided:
    answered = [Answered(QUESTIONS[0], daily or s.slower(), True)]
    answered += [Answered(NAMED[name], result, False) for name, result in others]
    return Decided("decide-x", tuple(answered), **{"open": (), **more})


def whole() -> tuple[Decided, Load]:
    busy = (Caution.of("others-used-cpu", share=0.12),)
    others = {"encrypt": s.acted(), "backup": s.backed_up(), "spill": s.leaking(), "storage": s.stored()}
    others |= {name: s.changed(others.get(name, s.slower()), cautions=busy) for name in ("backup", "cache")}
    return decided(*others.items(), daily=s.own_database(), open=(LATE,)), PEAK


def crowded() -> tuple[Decided, Load]:
    """As much as a page can have: every question answered or open, at length."""
    found, load = whole()
    own = s.changed(s.external_servers(), blocks=3)
    answered = (*found.answered, Answered(NAMED["restart"], own, False), Answered(NAMED["rate"], s.sweep(), True))
    why = Refusal.of("server-not-reached", said=" ".join(60 * ["refused"]))
    missing = Open(NAMED["replication"], why, RunRequest(engine="mariadb"), is_failed=True)
    return Decided(found.name, answered, (LATE, replace(LATE, question=NAMED["storage"]), missing)), load


def bare() -> tuple[Decided, Load]:
    return Decided("decide-x", (Answered(QUESTIONS[0], s.slower(), False),), ()), Load(2000.0)


def outline() -> Outline:
    daily = Step(QUESTIONS[0], RunRequest(), True, 40.0, 90.0, 60.0, spent_seconds=25.0)
    return Outline((daily,), (LATE,), (NAMED["backup"],))


DECISIONS: dict[str, Callable[[], tuple[Decided, Load]]] = {"whole": whole, "bare": bare, "crowded": crowded}
