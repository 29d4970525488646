import json
import math
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from support.examples import conditions, record_of, result_of, results, settings, settings_of, trial_of, trials
from support.refused import Part, coded, refused
from tdelta.errors import StoreError, TdeltaError
from tdelta.findings.base import KINDS
from tdelta.records import (
    Condition,
    Decision,
    Estimate,
    Role,
    RunResult,
    RunSettings,
    Trial,
    Verdict,
)
from tdelta.records.parts import flat, flat_hints, nested, part
from tdelta.report.values import record_values
from tdelta.store.codec import decode, dumps, encode, loads

# Records are large to draw; how long that takes is no property of the codec.
unhurried = hypothesis_settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@unhurried
@given(conditions)
def test_a_condition_comes_back_with_the_types_of_its_levels(condition):
    again = loads(Condition, dumps(condition))
    assert again == condition
    assert [type(level) for _, level in again.levels] == [type(level) for _, level in condition.levels]


@unhurried
@given(settings)
def test_settings_come_back_equal(run_settings):
    assert loads(RunSettings, dumps(run_settings)) == run_settings


@unhurried
@given(results)
def test_a_result_comes_back_equal(result):
    assert loads(RunResult, dumps(result)) == result


@unhurried
@given(trials)
def test_a_trial_comes_back_equal_with_its_histograms(trial):
    assert loads(Trial, dumps(trial)) == trial


@unhurried
@given(results)
def test_what_is_written_is_json_that_any_reader_takes(result):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(dumps(result), parse_constant=refuse)


@unhurried
@given(st.one_of(*map(record_of, (kind.record for kind in KINDS.values()))))
def test_a_finding_of_any_kind_comes_back_equal(finding):
    assert loads(type(finding), dumps(finding)) == finding


def test_floats_that_json_lacks_come_back_as_they_were():
    estimate = loads(Estimate, dumps(Estimate(math.nan, (-math.inf, math.inf), (0.1 + 0.2, 5e-324), 1.0, 0.0, 0.0)))
    assert math.isnan(estimate.median)
    assert estimate.hdi95 == (-math.inf, math.inf)
    assert estimate.hdi99 == (0.1 + 0.2, 5e-324)


@dataclass
class Counted:
    of: dict[int, list[float]]


def test_lists_and_whole_numbers_as_keys_come_back_as_they_were():
    assert loads(Counted, dumps(Counted({0: [1.0, math.inf], 12: []}))) == Counted({0: [1.0, math.inf], 12: []})
    with refused(StoreError, "unexpected", found="'x'", expected="a number as the key"):
        decode(Counted, {"of": {"x": []}})


def test_enumerations_come_back_as_members():
    verdict = loads(RunResult, dumps(result_of(settings_of()))).primary[0]
    assert isinstance(verdict, Verdict)
    assert verdict.decision is Decision.SLOWER
    assert verdict.condition.role is Role.TREATMENT


def test_a_missing_field_takes_its_default():
    data = encode(trial_of())
    del data["measurement"]["backlog_max"]
    assert decode(Trial, data) == trial_of()


def test_a_tuple_among_free_form_options_comes_back_as_a_list():
    assert decode(dict, encode({"inject": (0.05,)})) == {"inject": [0.05]}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"round": "0"}, coded("unexpected", expected="int", found="'0'", where="Trial.round")),
        ({"round": True}, coded("unexpected", expected="int", found="True", where="Trial.round")),
        (
            {"started_unix_seconds": "soon"},
            coded("unexpected", expected="float", found="'soon'", where="Trial.started_unix_seconds"),
        ),
        ({"extra": 1}, coded("unexpected", expected=Part("Trial"), found=Part("extra"), where="Trial")),
        (
            {"condition": {"levels": [["cipher"]], "role": "aa"}},
            coded("unexpected", expected=Part("2"), found=1, where="Trial.condition.levels[0]"),
        ),
        (
            {"condition": {"levels": [["cipher", None]], "role": "aa"}},
            coded("unexpected", found="None", where="Trial.condition.levels[0][1]"),
        ),
        (
            {"condition": {"levels": [], "role": "spy"}},
            coded("unexpected", expected="Role", found="'spy'", where="Trial.condition.role"),
        ),
        (
            {"measurement": {"operations": 1}},
            coded("unexpected", expected="a complete record", where="Trial.measurement"),
        ),
        ({"measurement": []}, coded("unexpected", expected="dict", found="[]", where="Trial.measurement")),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(change, told):
    with refused(StoreError, told):
        decode(Trial, encode(trial_of()) | change)


def test_a_damaged_histogram_is_told_with_its_name():
    data = encode(trial_of())
    data["measurement"]["histograms"] = {"tx:browse": "not base64!"}
    with refused(StoreError, "unexpected", expected="bytes", where="Trial.measurement.histograms.tx:browse"):
        decode(Trial, data)


def test_text_that_is_not_json_is_told():
    with refused(StoreError, "invalid", fault=Part("'{'"), where="RunResult", kind="JSON"):
        loads(RunResult, "{")


@pytest.mark.parametrize("value", [object(), {(1, 2): "one"}, {"path": {"set"}}])
def test_what_json_cannot_hold_is_refused_when_it_is_written(value):
    with pytest.raises(TdeltaError, match="JSON"):
        encode(value)


@dataclass(frozen=True)
class Cpu:
    user: float = 0.0
    system: float = 0.0


@dataclass(frozen=True)
class Place:
    block: int


@dataclass(frozen=True, kw_only=True)
class Whole:
    name: str
    place: Place = part()
    cpu: Cpu = part(Cpu, "cpu_")
    tags: tuple[str, ...] = field(default=())


WHOLE = Whole(name="a", place=Place(3), cpu=Cpu(0.5, 0.25))
FLAT = {"name": "a", "block": 3, "cpu_user": 0.5, "cpu_system": 0.25, "tags": ()}


def test_a_parts_fields_stand_in_its_place_with_its_prefix() -> None:
    assert dict(flat(WHOLE)) == FLAT
    assert list(flat_hints(Whole)) == list(FLAT)
    assert Whole(**nested(Whole, FLAT)) == WHOLE


def test_what_is_stored_and_shown_has_the_flat_names_and_is_read_again() -> None:
    stored = encode(WHOLE)
    assert list(stored) == list(record_values(WHOLE)) == list(FLAT)
    assert decode(Whole, stored) == WHOLE


def test_what_is_missing_of_a_part_takes_its_default() -> None:
    assert decode(Whole, {"name": "a", "block": 3, "cpu_user": 0.5}) == Whole(name="a", place=Place(3), cpu=Cpu(0.5))


def test_a_part_without_a_default_must_be_there() -> None:
    with refused(StoreError, "unexpected", expected="a complete record", where="Whole"):
        decode(Whole, {"name": "a"})


def test_a_name_of_no_part_is_a_fault() -> None:
    with refused(StoreError, "unexpected", found=Part("user")):
        decode(Whole, {"name": "a", "block": 3, "user": 0.5})
