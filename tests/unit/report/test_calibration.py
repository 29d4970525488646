import json
from dataclasses import replace

import pytest

from support import samples as s
from support.calibration_samples import calibration, short
from tdelta.records import Metric, RunResult
from tdelta.report.calibration import calibration_document, used_text, used_values
from tdelta.report.document import document, to_json


def test_a_document_says_what_each_length_shows_and_null_where_no_round_fits() -> None:
    values = json.loads(to_json(calibration_document(short(), 130)))
    assert values["exit_code"] == 130
    assert values["minimum_detectable_effect"][0] == {
        "minutes": 5.0, "rounds": 0, "critical_log_ratio": None, "mde_vs_tolerance": None, "mde_vs_zero": None,
    }  # fmt: skip
    assert (
        values["minimum_detectable_effect"][1]["mde_vs_tolerance"]
        > values["minimum_detectable_effect"][1]["mde_vs_zero"]
        > 0.0
    )


# How a run says it


def changed(**changes: object) -> RunResult:
    made = s.calibrated()
    return replace(made, settings=replace(made.settings, **changes))  # type: ignore[arg-type]


def test_what_is_detectable_goes_with_the_runs_own_tolerance() -> None:
    text = used_text(changed(tolerance=0.0))
    assert text is not None
    assert "+1.2% in 5 min" in text


@pytest.mark.parametrize("changes", [{"budget": 0.05}, {"metric": Metric.CPU_PER_OPERATION}])
def test_a_gate_and_another_metric_are_told_no_smallest_overhead(changes: dict[str, object]) -> None:
    text = used_text(changed(**changes))
    assert text is not None
    assert "Smallest" not in text


def test_a_length_that_holds_no_round_is_left_out() -> None:
    text = used_text(
        changed(calibration=replace(calibration(minimum_detectable_effect=short().minimum_detectable_effect).used()))
    )
    assert text is not None
    assert "5 min" not in text
    assert "in 20 min" in text


def test_a_run_without_a_calibration_says_nothing() -> None:
    assert used_text(s.slower()) is None
    assert used_values(s.slower().settings) is None
    assert document(s.slower(), 0)["settings"]["calibration"] is None  # type: ignore[index]
