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
from tdelta.messages import Refusal

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
