import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.refused import refused
from tdelta.engines.server import pairs
from tdelta.engines.server.discovery import connect
from tdelta.engines.server.dsn import Dsn, parse_dsn
from tdelta.engines.server.passwords import Passwords, shared_passwords
from tdelta.errors import DsnFault, ExternalServerFault
from tdelta.processes.workers import Refused


def dsn(query: str = "", host: str = "db1") -> Dsn:
    return parse_dsn(f"mysql://app@{host}/?{query}")


def file_with(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def read(found: Dsn, environment: dict[str, str] | None = None) -> str | None:
    passwords = Passwords(environment if environment is not None else {})
    passwords.read([("--baseline", found)])
    return passwords.of(found)


def test_a_variable_is_read_once_and_no_child_inherits_it() -> None:
    environment = {"DB": "pässword ", "OTHER": "x"}
    passwords = Passwords(environment)
    one, two = dsn("password-env=DB"), dsn("password-env=DB", "db2")
    passwords.read([("--baseline", one), ("--encrypted", two)])
    assert passwords.of(one) == passwords.of(two) == "pässword "
    assert environment == {"OTHER": "x"}
    assert "pässword" not in repr(passwords)
    passwords.give_back()
    assert environment == {"DB": "pässword ", "OTHER": "x"}


@pytest.mark.parametrize("content", [b"secret", b"secret\n", b"secret\r\n"])
def test_a_file_holds_one_line(tmp_path: Path, content: bytes) -> None:
    path = file_with(tmp_path / "p", content)
    assert read(dsn(f"password-file={path}")) == "secret"


def test_connections_of_one_sitting_share_what_was_read_even_from_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"secret\n")
    os.close(writing)
    monkeypatch.setenv("DB", "known")
    both = [("--baseline", dsn(f"password-file=/dev/fd/{reading}")), ("--encrypted", dsn("password-env=DB", "db2"))]
    try:
        with shared_passwords():
            for _ in range(2):
                with shared_passwords() as passwords:
                    passwords.read(both)
                assert [passwords.of(one) for _, one in both] == ["secret", "known"]
                assert "DB" not in os.environ, "not even between two connections"
        assert os.environ["DB"] == "known"
        with shared_passwords() as others, pytest.raises(DsnFault):
            others.read(both)  # another sitting reads again, and the pipe is empty
    finally:
        os.close(reading)


def test_a_password_that_a_server_rejects_is_asked_again_at_the_next_connection() -> None:
    typed = iter(["wrong", "right"])
    passwords = Passwords({}, lambda _text: next(typed))

    def open_session(options: Any) -> Any:
        if options.get("password") != "right":
            raise Refused("auth", "Access denied")
        return "session"

    with pytest.raises(ExternalServerFault):
        connect("--baseline", dsn(), passwords, open_session)
    passwords.forget_rejected()
    assert connect("--baseline", dsn(), passwords, open_session) == "session"
    assert connect("--encrypted", dsn(), passwords, open_session) == "session", "nobody is asked a third time"


def test_a_mistyped_password_of_both_servers_is_asked_once_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def prompt(text: str) -> str:
        asked.append(text)
        return "wrong"

    def open_session(_program: str, _options: Any) -> Any:
        raise Refused("auth", "Access denied")

    monkeypatch.setattr(pairs, "_lasting", open_session)
    passwords = Passwords({}, prompt)
    for commands in (1, 2):
        with ExitStack() as stack, pytest.raises(ExternalServerFault):
            pairs._examined({"--baseline": dsn(), "--encrypted": dsn("tls=require")}, passwords, stack)
        assert len(asked) == commands


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_that_others_may_read_is_refused_with_what_to_do(tmp_path: Path, mode: int) -> None:
    path = file_with(tmp_path / "p", b"s3cr3t", mode)
    with refused(DsnFault, "password-file-is-open", path=path, mode=mode):
        read(dsn(f"password-file={path}"))


@pytest.mark.parametrize("content", [b"", b"\n", b"s3cr3t\nmore\n", b"\xff\xfes3cr3t", b"s3cr3t\0", b"s3cr3t" * 1000])
def test_a_file_with_anything_else_is_refused_and_not_repeated(tmp_path: Path, content: bytes) -> None:
    path = file_with(tmp_path / "p", content)
    with pytest.raises(DsnFault, match="expected") as caught:
        read(dsn(f"password-file={path}"))
    assert "s3cr3t" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_all_that_cannot_be_read_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(DsnFault) as caught:
        Passwords({}).read(
            [("--baseline", dsn("password-env=GONE")), ("--encrypted", dsn(f"password-file={tmp_path / 'gone'}"))]
        )
    assert "--baseline, --encrypted: 2 faults" in str(caught.value)
    assert [refusal.code for refusal in caught.value.refusals] == ["no-such-variable", "unreadable"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with refused(DsnFault, "unreadable", fault="Is a directory"):
        read(dsn(f"password-file={tmp_path}"))


def test_a_person_is_asked_once_for_each_server() -> None:
    asked: list[str] = []

    def prompt(text: str) -> str:
        asked.append(text)
        return "typed"

    passwords = Passwords({}, prompt)
    assert passwords.of(dsn()) is None
    assert passwords.ask("--baseline", dsn()) == passwords.of(dsn()) == "typed"
    assert passwords.ask("--baseline", dsn()) is None
    assert passwords.ask("--encrypted", dsn(host="db2")) == "typed"
    assert asked == ["Password of app@db1:3306 (--baseline): ", "Password of app@db2:3306 (--encrypted): "]


def test_nobody_is_asked_where_the_dsn_says_where_to_look_or_nobody_is_there() -> None:
    assert Passwords({}, lambda _text: "typed").ask("--baseline", dsn("password-env=DB")) is None
    assert Passwords({}).ask("--baseline", dsn()) is None


def test_a_prompt_that_is_left_is_a_fault() -> None:
    def left(_text: str) -> str:
        raise EOFError

    with refused(DsnFault, "nobody-to-ask", where="--baseline"):
        Passwords({}, left).ask("--baseline", dsn())
