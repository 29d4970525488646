from pathlib import Path

import pytest

from support.fake_twins import FakeTwin
from support.refused import check_messages, coded, has
from tdelta.session.answer import others_delay_share

from .conducting import Sitting


@pytest.fixture
def sitting(tmp_path: Path) -> Sitting:
    return Sitting(tmp_path)


def test_delay_of_the_database_itself_is_told_in_place_of_the_machines_pressure(sitting: Sitting) -> None:
    result = sitting.scripted(delay_share=0.12, pressure={"cpu_some": 0.9}).conduct()
    told = [one for one in result.cautions if one.code in ("others-delayed-database", "machine-busy")]
    check_messages(told, coded("others-delayed-database", share=pytest.approx(0.12)))


def test_neither_little_delay_nor_little_pressure_is_worth_a_word(sitting: Sitting) -> None:
    result = sitting.scripted(delay_share=0.04, pressure={"cpu_some": 0.09, "steal": 0.01}).conduct()
    assert not [
        caution
        for caution in map(str, result.cautions)
        if "waited" in caution or "kept" in caution or "host" in caution
    ]


def test_stolen_time_is_told(sitting: Sitting) -> None:
    result = sitting.scripted(pressure={"steal": 0.031}).conduct()
    assert has(result.cautions, "host-took-cpu", share=0.031)


def test_delay_is_added_up_over_trials_and_unknown_where_it_is_of_one(sitting: Sitting) -> None:
    place = sitting.scripted(delay_share=0.25, cost_ns=lambda twin, job: 100_000.0)
    place.conduct()
    trials = place.trials()
    assert others_delay_share(trials) == pytest.approx(0.25, abs=1e-6)
    assert others_delay_share(()) is None
    unknown = sitting.scripted()
    unknown.conduct()
    assert others_delay_share((*trials, *unknown.trials())) is None


def test_a_twin_of_the_fake_engine_has_no_delay_unless_it_is_given_one(sitting: Sitting) -> None:
    sitting.conduct()
    assert {trial.measurement.delays.run_delay_ns for trial in sitting.trials()} == {None}
    assert isinstance(sitting.twins.started[0], FakeTwin)
