"""A PostgreSQL server of the tests' own: its data in a folder, reached by a Unix socket there and over TLS."""

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.ports import free_port

from .programs import as_user, folder_of_programs

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


@dataclass(frozen=True)
class PrivateServer:
    folder: Path
    process: subprocess.Popen[bytes]
    port: int

    @property
    def socket(self) -> Path:
        return self.folder / f".s.PGSQL.{self.port}"

    @property
    def authority(self) -> Path:
        return self.folder / "data" / "ca.crt"

    def options(self, **changes: Any) -> dict[str, Any]:
        given = {"protocol": "postgres", "socket": str(self.socket), "user": "tdelta", "database": "postgres"}
        return {name: value for name, value in (given | changes).items() if value is not None}

    def over_tls(self, **changes: Any) -> dict[str, Any]:
        tcp = {"socket": None, "host": "127.0.0.1", "port": self.port, "user": "scrammed", "password": PASSWORD}
        return self.options(**(tcp | {"tls": "require"} | changes))

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
        try:
            self.process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(PATIENCE_SECONDS)


@contextmanager
def private_server(*settings: str) -> Iterator[PrivateServer]:
    """A new server, ended and removed behind it. The folder's name is short: a socket's path has at most 107 bytes."""
    binaries = folder_of_programs()
    assert binaries is not None
    with tempfile.TemporaryDirectory(prefix="tdelta-pg-") as name:
        folder = Path(name)
        data = folder / "data"
        initialize = ["initdb", "--no-sync", "--username=tdelta", "--encoding=UTF8", "--locale=C", "--auth=trust"]
        run(as_user([str(binaries / initialize[0]), *initialize[1:], f"--pgdata={data}"]))
        (data / "pg_hba.conf").write_text(ACCESS)
        certify(data)
        server = _started(binaries, folder, settings)
        try:
            yield server
        finally:
            server.stop()


def certify(data: Path) -> None:
    """An authority, and a certificate of its for 127.0.0.1 with the key."""
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = ["-keyout", str(data / "ca.key"), "-out", str(data / "ca.crt"), "-subj", "/CN=tests", "-days", "2"]
    run(["openssl", "req", "-x509", *new_key, *authority])
    request = ["-keyout", str(data / "server.key"), "-out", str(data / "server.csr"), "-subj", "/CN=127.0.0.1"]
    run(["openssl", "req", *new_key, *request, "-addext", "subjectAltName=IP:127.0.0.1"])
    signer = [
        "-CA",
        str(data / "ca.crt"),
        "-CAkey",
        str(data / "ca.key"),
        "-CAcreateserial",
        "-copy_extensions",
        "copy",
    ]
    run(["openssl", "x509", "-req", *signer, "-in", str(data / "server.csr"), "-out", str(data / "server.crt")])
    (data / "server.key").chmod(0o600)


def _started(binaries: Path, folder: Path, settings: tuple[str, ...]) -> PrivateServer:
    port = free_port()
    given = [
        "listen_addresses=127.0.0.1",
        f"port={port}",
        f"unix_socket_directories={folder}",
        "ssl=on",
        "fsync=off",
        "max_connections=230",
        "autovacuum=off",
        *settings,
    ]
    command = [str(binaries / "postgres"), "-D", str(folder / "data")]
    for setting in given:
        command += ["-c", setting]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(as_user(command), stdout=log, stderr=log)
    server = PrivateServer(folder, process, port)
    try:
        _await(server)
    except BaseException:
        server.stop()
        raise
    return server


def _await(server: PrivateServer) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while "ready to accept connections" not in (said := (server.folder / "server.log").read_text(errors="replace")):
        assert server.process.poll() is None, said
        assert time.monotonic() < until, said
        time.sleep(0.02)
