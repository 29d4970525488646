"""The native client of the MySQL protocol against MySQL, with the ways to prove a password that MySQL alone has."""

from collections.abc import Iterator

import pytest

from support.mysql_client import MysqlClient, Server, refusal, tls_cipher
from tdelta import _native

NAME, RIGHT, WRONG = "known@'%'", "pässwörd", "battery-staple"


def account(options: str) -> str:
    twin = _native.ServerTwin(options, 1)
    try:
        return twin.text("SELECT CURRENT_USER()")
    finally:
        twin.close()


def forget(server: Server) -> None:
    with server.twin() as twin:
        twin.run("FLUSH PRIVILEGES")


class TestMysql(MysqlClient):
    kind = "mysql"

    @pytest.fixture(params=["caching_sha2_password", "sha256_password"])
    def known(self, server: Server, request: pytest.FixtureRequest) -> Iterator[Server]:
        with server.twin() as twin:
            twin.run(f"CREATE USER {NAME} IDENTIFIED WITH {request.param} BY '{RIGHT}'")
            twin.run(f"GRANT ALL ON tdelta.* TO {NAME}")
            yield server
            twin.run(f"DROP USER {NAME}")

    def test_a_password_is_proved_on_every_way_to_the_server(self, known: Server) -> None:
        mine = {"user": "known", "password": RIGHT}
        for options in (known.options(**mine), known.tcp(**mine), known.tcp(**mine, tls="require")):
            forget(known)
            assert account(options) == "known@%", "in full"
            assert account(options) == "known@%", "by what the server remembers"
        assert tls_cipher(known.tcp(**mine, tls="require"))

    def test_a_wrong_password_is_refused_on_every_way_to_the_server(self, known: Server) -> None:
        forget(known)
        mine = {"user": "known", "password": WRONG}
        for options in (known.options(**mine), known.tcp(**mine), known.tcp(**mine, tls="require")):
            kind, message = refusal(options)
            assert kind == "auth"
            assert WRONG not in message
