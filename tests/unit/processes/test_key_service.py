import http.client
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tdelta.processes.key_service import KEYS, OPTIONS, KeyService, add_versions

FIRST = "00112233445566778899aabbccddeeff"

Ask = Callable[..., tuple[int, Any]]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    (tmp_path / KEYS).write_text(f"1;{FIRST}\n2;ffeeddccbbaa99887766554433221100\n")
    with KeyService(tmp_path) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()

        def asked(path: str, token: str = service.token) -> tuple[int, Any]:
            connection = http.client.HTTPConnection("127.0.0.1", service.server_address[1], timeout=10)
            connection.request("GET", f"/v1/{path}", headers={"X-Vault-Token": token})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

        yield asked
        service.shutdown()


def key(ask: Ask, path: str) -> tuple[str, int]:
    status, document = ask(path)
    assert status == 200
    return document["data"]["data"]["data"], document["data"]["metadata"]["version"]


def test_a_new_version_is_the_latest_and_older_ones_stay_as_they_were(ask: Ask, tmp_path: Path) -> None:
    assert key(ask, "tdelta/data/1") == (FIRST, 1)
    assert add_versions(tmp_path) == 2
    second, version = key(ask, "tdelta/data/1")
    assert (version, len(second)) == (2, len(FIRST))
    assert second != FIRST
    assert key(ask, "tdelta/data/1?version=1") == (FIRST, 1)


@pytest.mark.parametrize("path", ["tdelta/data/9", "tdelta/data/1?version=2", "other/data/1", "tdelta/data/1/2"])
def test_a_key_or_version_that_there_is_not_is_not_found(ask: Ask, path: str) -> None:
    assert ask(path) == (404, {"errors": []})


@pytest.mark.parametrize("token", ["", "wrong", "gehe\xedm"])
def test_nobody_without_the_token_gets_a_key(ask: Ask, token: str) -> None:
    assert ask("tdelta/data/1", token) == (403, {"errors": []})


def test_the_plugins_options_have_address_and_token_and_are_for_their_owner_only(tmp_path: Path) -> None:
    (tmp_path / KEYS).write_text(f"1;{FIRST}\n")
    with KeyService(tmp_path) as service:
        service.write_options("url={url}\ntoken={token}\n")
        written = tmp_path / OPTIONS
        assert written.read_text() == (
            f"url=http://127.0.0.1:{service.server_address[1]}/v1/tdelta\ntoken={service.token}\n"
        )
        assert written.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("version", ["latest", "1.5"])
def test_a_version_that_is_no_number_is_refused_as_vault_does(ask: Ask, version: str) -> None:
    assert ask(f"tdelta/data/1?version={version}") == (400, {"errors": []})
