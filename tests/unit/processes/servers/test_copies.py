import os
import signal
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.errors import StorageFault
from tdelta.processes.servers.copies import copy_data
from tdelta.processes.servers.recipes import (
    Command,
    Greeting,
    Mount,
    Recipe,
    ServerPaths,
    content,
    packed,
    place_for,
    unpacked,
)


def recipe(folder: Path, *, is_mounted: bool = False) -> Recipe:
    place = ServerPaths(folder, folder / "s")
    mount = Mount(Command(()), Command(()), folder / "ciphertext", place.data) if is_mounted else None
    place.keys.mkdir(parents=True)
    return Recipe(place, {}, (), Command(()), {}, mount=mount)


def test_data_is_copied_with_its_folders_modes_and_links(tmp_path: Path) -> None:
    source, target = recipe(tmp_path / "a"), recipe(tmp_path / "b")
    (source.place.data / "mysql").mkdir(mode=0o750, parents=True)
    (source.place.data / "mysql" / "user.frm").write_bytes(b"rows" * 5000)
    (source.place.data / "mysql" / "user.frm").chmod(0o640)
    (source.place.data / "log").symlink_to("mysql/user.frm")
    copy_data(source, target)
    copied = target.place.data / "mysql" / "user.frm"
    assert copied.read_bytes() == b"rows" * 5000
    assert copied.stat().st_mode & 0o777 == 0o640
    assert (target.place.data / "mysql").stat().st_mode & 0o777 == 0o750
    assert (target.place.data / "log").readlink() == Path("mysql/user.frm")
    assert copied.stat().st_ino != (source.place.data / "mysql" / "user.frm").stat().st_ino


def test_a_file_with_holes_has_them_in_the_copy(tmp_path: Path) -> None:
    source, target = recipe(tmp_path / "a"), recipe(tmp_path / "b")
    source.place.data.mkdir()
    sparse = source.place.data / "ibdata"
    with sparse.open("wb") as file:
        file.truncate(64 << 20)
        os.pwrite(file.fileno(), b"page" * 4096, 32 << 20)
    copy_data(source, target)
    copied = target.place.data / "ibdata"
    assert copied.stat().st_size == 64 << 20
    assert copied.stat().st_blocks < (1 << 20) // 512
    with copied.open("rb") as file:
        assert os.pread(file.fileno(), 16384, 32 << 20) == b"page" * 4096
        assert os.pread(file.fileno(), 16384, 0) == bytes(16384)


def test_a_socket_that_a_server_left_is_not_copied(tmp_path: Path) -> None:
    source, target = recipe(tmp_path / "a"), recipe(tmp_path / "b")
    source.place.data.mkdir()
    os.mkfifo(source.place.data / "left")
    copy_data(source, target)
    assert list(target.place.data.iterdir()) == []


def test_keys_that_the_server_drew_go_along_and_those_of_the_recipe_stay(tmp_path: Path) -> None:
    source, target = recipe(tmp_path / "a"), recipe(tmp_path / "b")
    source.place.data.mkdir()
    (source.place.keys / "keyring").write_text("drawn")
    (source.place.keys / "keys.txt").write_text("1;old")
    (target.place.keys / "keys.txt").write_text("1;new")
    copy_data(source, target)
    assert (target.place.keys / "keyring").read_text() == "drawn"
    assert (target.place.keys / "keys.txt").read_text() == "1;new"


def test_of_an_encrypted_file_system_the_encrypted_files_are_copied(tmp_path: Path) -> None:
    source, target = recipe(tmp_path / "a", is_mounted=True), recipe(tmp_path / "b", is_mounted=True)
    (tmp_path / "a" / "ciphertext").mkdir()
    (tmp_path / "a" / "ciphertext" / "gocryptfs.conf").write_text("{}")
    copy_data(source, target)
    assert (tmp_path / "b" / "ciphertext" / "gocryptfs.conf").read_text() == "{}"
    assert not target.place.data.exists()


def test_data_that_cannot_be_read_is_a_storage_fault_that_names_it(tmp_path: Path) -> None:
    source, target = recipe(tmp_path / "a"), recipe(tmp_path / "b")
    with refused(StorageFault, "cannot-copy", source="a/data", target="data", fault=Part("No such file")):
        copy_data(source, target)


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


WORDS = ("hush", "word")
RECIPE = Recipe(
    place=ServerPaths(Path("/run/twin"), Path("/run/s/socket")),
    files={Path("/run/twin/keys/key"): "1;abcd"},
    initialize=(Command(("make", "it"), {"A": "b"}, as_user=True, secret=WORDS[0]),),
    serve=Command(("serve",)),
    connect={"socket": "/run/s/socket", "user": "tdelta"},
    stop_signal=signal.SIGINT,
    greeting=Greeting(b"\x00\xff", b"R", 3),
    links={Path("/run/twin/a"): Path("/usr/lib/a")},
    mount=Mount(Command(("make",), secret=WORDS[1]), Command(("mount", "-fg")), Path("/c"), Path("/at")),
    cores=2,
)


def test_a_recipe_survives_the_way_to_the_supervisor() -> None:
    assert unpacked(packed(RECIPE)) == RECIPE


def test_a_digest_is_of_keys_too() -> None:
    assert "abcd" in content(RECIPE)
    assert content(unpacked(packed(RECIPE))) == content(RECIPE)


def test_neither_keys_nor_secrets_are_in_what_is_printed_of_a_recipe() -> None:
    assert "abcd" not in repr(RECIPE)
    assert "hush" not in repr(RECIPE)
    assert "word" not in repr(RECIPE)
