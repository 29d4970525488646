"""A PostgreSQL server of the tests' own: its data in a folder, reached by a Unix socket there and over TLS."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.certificates import certify

from .own import Server, programs, running
from .programs import as_user

PATIENCE_SECONDS = 120.0
PASSWORD = "pass;wörd 'quoted'"  # noqa: S105
ACCESS = """
local all scrammed scram-sha-256
local all hashed md5
local all plain password
local all all trust
hostssl all all 127.0.0.1/32 scram-sha-256
"""


def run(command: list[str], **more: Any) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, **more)
    assert done.returncode == 0, done.stderr


class PrivateServer(Server):
    @property
    def authority(self) -> Path:
        return self.folder / "data" / "ca.pem"

    def options(self, **changes: Any) -> dict[str, Any]:
        given = {
            "protocol": "postgres",
            "socket": str(self.sockets / f".s.PGSQL.{self.port}"),
            "user": "tdelta",
            "database": "postgres",
        }
        return {name: value for name, value in (given | changes).items() if value is not None}

    def over_tls(self, **changes: Any) -> dict[str, Any]:
        tcp = {"socket": None, "host": "127.0.0.1", "port": self.port, "user": "scrammed", "password": PASSWORD}
        return self.options(**(tcp | {"tls": "require"} | changes))


@contextmanager
def private_server(*settings: str) -> Iterator[PrivateServer]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "installed"
        initialize = ["--no-sync", "--username=tdelta", "--encoding=UTF8", "--locale=C", "--auth=trust"]
        run(as_user([str(programs() / "initdb"), *initialize, f"--pgdata={data}"]))
        (data / "pg_hba.conf").write_text(ACCESS)
        certify(data)
        tls = ("ssl=on", "ssl_cert_file=cert.pem", "ssl_key_file=key.pem")
        given = (*tls, "max_connections=230", "autovacuum=off", *settings)
        with running(data, folder / "server", *given) as server:
            yield PrivateServer(server.folder, server.port, server.sockets, server.process)
