from typing import ClassVar

import numpy as np
import pytest

from tdelta.errors import (
    Defect,
    DsnFault,
    ExternalServerFault,
    ServerFault,
    ServerLost,
    TdeltaError,
    UnknownName,
    UsageError,
    WorkloadError,
    raise_together,
)
from tdelta.messages import Detail, Message, Refusal
from tdelta.report.values import values_of
from tdelta.store import decode, encode

ONE = Refusal.of("twice", what="0.05")
OTHER = Refusal.of("conflict", one="mariadb", other="b")


def test_the_text_of_an_error_is_that_of_its_refusals_one_to_a_line() -> None:
    error = UsageError(ONE, OTHER)
    assert error.refusals == (ONE, OTHER)
    assert str(error) == f"{ONE}\n{OTHER}"


def test_faults_of_a_folder_are_its_refusals_and_listed_under_it() -> None:
    error = WorkloadError("./mine", [ONE, OTHER])
    assert error.refusals == (ONE, OTHER)
    assert str(error) == f"workload ./mine: 2 faults\n  {ONE}\n  {OTHER}"


def test_faults_of_a_dsn_and_of_a_server_say_where_they_are() -> None:
    assert [one.parameters["where"] for one in DsnFault("--baseline", [ONE, OTHER]).refusals] == ["--baseline"] * 2
    assert str(DsnFault("--baseline", [ONE])) == f"--baseline: {ONE}"
    assert str(ExternalServerFault("db1", ONE, OTHER)) == f"db1: {ONE}; {OTHER}"


@pytest.mark.parametrize("kind", [ServerFault, ServerLost])
def test_the_last_lines_of_a_log_stand_behind_what_is_wrong_with_the_server(kind: type[TdeltaError]) -> None:
    error = kind(ONE, "its\nlast words")
    assert (error.refusals, str(error)) == ((ONE,), f"{ONE}; the last lines of its log:\nits\nlast words")


def test_a_defect_is_in_the_words_of_those_who_mend_it() -> None:
    assert [(one.code, one.text) for one in Defect("no such state").refusals] == [("defect", "no such state")]


@pytest.mark.parametrize(
    ("found", "code", "text"),
    [
        ("aes-265", "unknown", "unknown cipher aes-265. Expected one of aes-256. Did you mean 'aes-256'?"),
        ("x", "unknown", "unknown cipher x. Expected one of aes-256."),
    ],
)
def test_an_unknown_name_has_a_code(found: str, code: str, text: str) -> None:
    error = UnknownName("cipher", found, ["aes-256"])
    assert ([refusal.code for refusal in error.refusals], str(error)) == ([code], text)


def test_one_fault_is_raised_as_it_is_and_none_is_not() -> None:
    raise_together([])
    alone = UnknownName("cipher", "x", [])
    with pytest.raises(UnknownName) as caught:
        raise_together([alone], "--vary: ")
    assert caught.value is alone


@pytest.mark.parametrize(
    ("heading", "text"),
    [
        (None, f"{ONE}\n{OTHER}"),
        ("", f"2 faults\n  {ONE}\n  {OTHER}"),
        ("--vary: ", f"--vary: 2 faults\n  {ONE}\n  {OTHER}"),
    ],
)
def test_several_faults_are_raised_as_one_that_has_all_refusals(heading: str | None, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        raise_together([UsageError(ONE), UsageError(OTHER)], heading)
    assert caught.value.refusals == (ONE, OTHER)
    assert str(caught.value) == text


class Sample(Message):
    TEMPLATES: ClassVar = {
        "counted": "{blocks:,} {blocks:block|blocks}",
        "placed": "{words} as it is",
        "share": "{share:.1%} of {whole:g}",
        "digits": "{share:.2g%}",
    }


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Sample.of("counted", blocks=1), "1 block"),
        (Sample.of("counted", blocks=1234), "1,234 blocks"),
        (Sample.of("placed", words="all").at(""), "all as it is"),
        (Sample.of("placed", words="all").at("threads 4"), "threads 4: all as it is"),
        (Sample.of("digits", share=0.0312), "3.1%"),
        (Sample.of("digits", share=1.512), "150%"),
        (Sample.of("share", share=0.0312, whole=2.0), "3.1% of 2"),
        (Sample.verbatim("as {it} was"), "as {it} was"),
        (Sample.of("newer", a=1), "newer {'a': 1}"),
        (Sample.of("counted", a=1), "counted {'a': 1}"),
        (Sample.of("share", share="much", whole=2.0), "share {'share': 'much', 'whole': 2.0}"),
    ],
)
def test_a_text_is_its_template_filled_in(message: Message, text: str) -> None:
    assert (message.text, str(message)) == (text, text)


def test_a_place_stands_before_the_text_and_the_widest_first() -> None:
    message = Sample.of("counted", blocks=1).at("line 3").at("a.sql")
    assert (message.text, message.parameters["where"]) == ("a.sql: line 3: 1 block", "a.sql: line 3")


def test_what_is_neither_text_nor_a_number_is_given_as_its_text() -> None:
    assert Sample.of("placed", words=ValueError("no")).parameters == {"words": "no"}


def test_numbers_of_numpy_become_pythons_own() -> None:
    message = Sample.of("counted", blocks=np.int64(3), share=np.float64(0.5))
    assert {type(value) for value in message.parameters.values()} == {int, float}


def test_messages_are_alike_where_kind_code_and_parameters_are() -> None:
    one, same = Sample.of("share", share=0.1, whole=1), Sample.of("share", whole=1, share=0.1)
    assert len({one, same, Sample.of("share", share=0.2, whole=1)}) == 2
    assert Sample.verbatim("a") != Detail.verbatim("a")


def test_a_message_is_stored_without_its_text_and_shown_in_json_with_it() -> None:
    message = Sample.of("counted", blocks=2)
    assert encode(message) == {"code": "counted", "parameters": {"blocks": 2}}
    assert decode(Sample, encode(message)) == message
    assert values_of(message) == {**encode(message), "text": "2 blocks"}
