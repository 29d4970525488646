"""The messages of a ``--json`` document: tests look at their codes and parameters, not at their English."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from support.refused import Coded, Expected, check_messages
from tdelta.messages import Message


class Ended(Protocol):
    @property
    def code(self) -> int: ...
    @property
    def out(self) -> str: ...
    @property
    def err(self) -> str: ...
    @property
    def document(self) -> Any: ...


def messages(listed: Iterable[Mapping[str, Any]]) -> list[Message]:
    return [Message(one["code"], one["parameters"]) for one in listed]


def cautions(document: Any, code: str | None = None) -> list[Message]:
    return [one for one in messages(document["caution_codes"]) if code in (None, one.code)]


def details(document: Any, check: str, code: str | None = None) -> list[Message]:
    (listed,) = [one["details"] for one in document["validity"] if one["code"] == check]
    return [one for one in messages(listed) if code in (None, one.code)]


def check_refused(
    ran: Ended, *said: str | Coded, exit_code: int = 2, **parameters: Expected | tuple[Expected | None, ...]
) -> None:
    """A command with ``--json`` ended with this exit code, exactly these refusals, and no traceback."""
    assert ran.code == exit_code, ran.err
    assert "Traceback" not in ran.err
    check_messages(messages(ran.document["refusals"]), *said, **parameters)


def file_states(document: Any, cipher: str) -> dict[str, str]:
    """The states of the classes that hold rows, of the twins of one cipher."""
    found: dict[str, str] = {}
    for one in document["evidence"]:
        if one["condition"]["cipher"] == cipher and one["file_class"] != "other":
            assert found.setdefault(one["file_class"], one["state"]) == one["state"]
    return found
