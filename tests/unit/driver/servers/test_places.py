import os
from pathlib import Path

import pytest

from tdelta.driver.servers.directories import place_for


def test_a_socket_lies_in_its_servers_folder_if_its_path_is_short_enough(tmp_path: Path) -> None:
    just = Path("/") / ("d" * 104)
    assert place_for(just).socket == just / "s"
    assert len(os.fsencode(place_for(just).socket)) == 107
    assert place_for(Path(f"{just}d")).socket != Path(f"{just}d") / "s"


def test_a_socket_whose_path_would_be_too_long_gets_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    deep = Path("/") / ("ä" * 53)
    first, second = place_for(deep), place_for(deep)
    assert first.socket.parent.parent == tmp_path
    assert first.socket.parent != second.socket.parent
    assert not first.socket.parent.exists()


@pytest.mark.parametrize("named", ["", "relative", "/nowhere/at/all"])
def test_a_runtime_folder_that_cannot_be_used_is_not(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", named)
    assert place_for(Path("/") / ("d" * 120)).socket.parent.parent.is_dir()


def test_a_server_may_ask_for_a_name_of_its_own() -> None:
    assert place_for(Path("/twins/a"), ".s.PGSQL.5432").socket == Path("/twins/a/.s.PGSQL.5432")
