from types import SimpleNamespace
from typing import Any

import pytest

from support.refused import Part, check_messages
from tdelta.engines.registry import profile
from tdelta.errors import Defect, StorageFault
from tdelta.messages import Refusal
from tdelta.records import Condition, Role
from tdelta.session import RunRequest
from tdelta.session.collectors.unit_costs import MOST_ROUNDS, UnitCosts
from tdelta.session.state import RunState


class Twin:
    def __init__(self, answer: dict[str, object] | Exception | None) -> None:
        self.answer, self.asked = answer, 0

    def prices(self) -> dict[str, object] | None:
        self.asked += 1
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def condition(cipher: str, work: str) -> Condition:
    role = Role.BASELINE if cipher == "none" else Role.TREATMENT
    return Condition((("cipher", cipher), ("work", work)), role, int(work == "cold"))


def unit_costs(engine: str, state: RunState) -> UnitCosts:
    def settings(of: Condition, _size: int) -> Any:
        return SimpleNamespace(cipher=of.level("cipher"), aes_instructions="on")

    known = SimpleNamespace(profile=profile(engine), page_size=lambda _settings: None)
    plan: Any = SimpleNamespace(request=RunRequest(engine=engine), engine=known, twin_settings=settings)
    context: Any = SimpleNamespace(plan=plan, state=state)
    return UnitCosts(context)


WARM, COLD = condition("aes-256-gcm", "warm"), condition("aes-256-gcm", "cold")


def taken(engine: str, rounds: int, answer: dict[str, object] | Exception | None) -> tuple[UnitCosts, RunState, Twin]:
    state, twin = RunState(), Twin(answer)
    made = unit_costs(engine, state)
    for number in range(rounds):
        made.begin_round(number)
        for one in (WARM, COLD):
            made.collect([one], twin)  # type: ignore[arg-type]
    return made, state, twin


@pytest.mark.parametrize(("engine", "asked"), [("duckdb", 2), ("sqlite", 2)])
def test_alike_files_share_a_measurement_of_a_round(engine: str, asked: int) -> None:
    _, state, twin = taken(engine, 2, {"passes": {}})
    assert twin.asked == asked
    assert {key: len(measured) for key, measured in state.unit_costs.items()} == {WARM.key: 2, COLD.key: 2}


@pytest.mark.parametrize("answer", [{}, {"passes": {}}, None, Defect("no")])
def test_all_twins_are_measured_in_the_first_rounds_whatever_they_answer(
    answer: dict[str, object] | Exception | None,
) -> None:
    *_, twin = taken("duckdb", MOST_ROUNDS + 3, answer)
    assert twin.asked == MOST_ROUNDS


def test_what_cannot_be_measured_is_told_once_and_a_full_disk_is_raised() -> None:
    made, _, _ = taken("duckdb", 2, Defect("expected some 64 blocks, found 71.0"))
    check_messages(made.cautions(), "prices-unknown", fault=Part("found 71.0"))
    assert unit_costs("duckdb", RunState()).cautions() == ()
    with pytest.raises(StorageFault):
        taken("duckdb", 1, StorageFault(Refusal.of("disk-refuses", said="full")))
