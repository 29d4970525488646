"""A key service on the loopback, as MariaDB's plugin hashicorp_key_management expects a Vault to answer.

It serves the keys of a file, of which each has versions: the first as it is written there, later ones derived from it.
Started as ``python -m tdelta.processes.key_service FOLDER SOCKET LATENCY_MS IS_DOWN OPTIONS`` beside the server that
needs it. FOLDER has the keys, and how many versions there are; the plugin's OPTIONS are written to it, with the address
for ``{url}`` and a token that nobody else knows for ``{token}``. Its answers are those of Vault's KV secrets
engine, version 2 (developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2).
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tdelta.measure.private import private

KEYS, OPTIONS, VERSIONS = "keys.txt", "vault.cnf", "versions"
"""Files in the folder: lines ``NUMBER;HEXADECIMAL``, the plugin's options, the number of versions."""

_MOUNT = "tdelta"
_DATA = re.compile(rf"/v1/{_MOUNT}/data/(\d+)\Z")
_NOTHING: Mapping[str, object] = {"errors": []}
_LOOK_AGAIN_SECONDS = 0.2


def versions(folder: Path) -> int:
    try:
        return int((folder / VERSIONS).read_text(encoding="ascii"))
    except OSError:
        return 1


def add_versions(folder: Path, count: int = 1) -> int:
    """Give each key so many more versions; returns the number of the last."""
    latest = versions(folder) + count
    with private(folder / f"{VERSIONS}.new") as file:
        file.write(str(latest).encode())
    (folder / f"{VERSIONS}.new").replace(folder / VERSIONS)
    return latest


def key(first: str, version: int) -> str:
    if version == 1:
        return first
    return hashlib.sha256(f"{first} {version}".encode()).hexdigest()[: len(first)]


class KeyService(ThreadingHTTPServer):
    """Serves the keys of a folder. ``latency_seconds`` is how long each answer is held back."""

    def __init__(self, folder: Path, latency_seconds: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.latency_seconds = latency_seconds
        self.token = secrets.token_hex(16)
        lines = (folder / KEYS).read_text(encoding="ascii").split()
        self.keys: Mapping[str, str] = dict(line.split(";") for line in lines)

    def write_options(self, options: str) -> None:
        """Write them whole, once the service answers."""
        address = f"http://127.0.0.1:{self.server_address[1]}/v1/{_MOUNT}"
        new = self.folder / f"{OPTIONS}.new"
        with private(new) as file:
            file.write(options.format(url=address, token=self.token).encode())
        new.replace(self.folder / OPTIONS)

    def answer(self, path: str) -> tuple[int, object]:
        parts = urlsplit(path)
        if parts.path == f"/v1/sys/mounts/{_MOUNT}/tune":
            return 200, {"options": {"version": "2"}}
        asked = _DATA.fullmatch(parts.path)
        latest = versions(self.folder)
        version = parse_qs(parts.query).get("version", [str(latest)])[0]
        if not version.isdecimal():
            return 400, _NOTHING
        if asked is None or asked[1] not in self.keys or not 1 <= int(version) <= latest:
            return 404, _NOTHING
        data = {"data": key(self.keys[asked[1]], int(version))}
        return 200, {"data": {"data": data, "metadata": {"version": int(version)}}}


class _Handler(BaseHTTPRequestHandler):
    server: KeyService

    def do_GET(self) -> None:  # the name that the library calls
        time.sleep(self.server.latency_seconds)
        given, wanted = self.headers.get("X-Vault-Token", ""), self.server.token
        is_known = secrets.compare_digest(given.encode(), wanted.encode())
        status, document = self.server.answer(self.path) if is_known else (403, _NOTHING)
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: a server's log would have a line for each request."""


def main(folder: Path, socket: Path, latency_ms: int, options: str, *, is_down: bool) -> None:
    """Serve until this process is ended; ``is_down``: only until the server has its socket."""
    service = KeyService(folder, latency_ms / 1000.0)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    service.write_options(options)
    if not is_down:
        threading.Event().wait()
    while not socket.exists():
        time.sleep(_LOOK_AGAIN_SECONDS)
    service.shutdown()
    service.server_close()
    threading.Event().wait()  # the supervisor ends this process with the server


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[5], is_down=sys.argv[4] == "1")
