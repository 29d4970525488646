from typing import ClassVar

import numpy as np
import pytest

from tdelta.messages import Detail, Message
from tdelta.report.values import values_of
from tdelta.store import decode, encode


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
