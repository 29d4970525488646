import sys
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.engines.server import installed as binaries
from tdelta.engines.server.installed import build_of, find_servers, interpreter, named_servers, parse_version
from tdelta.errors import EngineUnavailable

MARIADB = "mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
MYSQL = "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"
PERCONA = "/usr/sbin/mysqld  Ver 8.4.2-2 for Linux on x86_64 (Percona Server (GPL), Release 2, Revision abc)"
POSTGRES = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"


def program(path: Path, said: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{said}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on it but what a test puts into ``bin``."""
    monkeypatch.setattr(binaries, "_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "bin").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (MARIADB, ("mariadb", "MariaDB", "10.11.19")),
        (MYSQL, ("mysql", "MySQL", "9.7.4")),
        (PERCONA, ("mysql", "Percona Server", "8.4.2")),
        (POSTGRES, ("postgres", "PostgreSQL", "15.18")),
        ("postgres (PostgreSQL) 17beta1", ("postgres", "PostgreSQL", "17")),
        ("mysql  Ver 15.1 Distrib 10.11", None),
        ("", None),
    ],
)
def test_a_server_is_what_its_version_line_says(said: str, found: tuple[str, str, str] | None) -> None:
    assert parse_version(said) == found


def test_a_mysqld_that_is_mariadb_is_found_as_mariadb_only(place: Path) -> None:
    there = program(place / "bin" / "mysqld", MARIADB)
    (server,) = find_servers("mariadb")
    assert (server.kind, server.path, server.version, server.text) == ("mariadb", there, "10.11.19", MARIADB)
    with refused(EngineUnavailable, "no-server", kind="mysql", names="mysqld", remedy=Part("scripts/mysql-server")):
        find_servers("mysql")


def test_one_program_under_two_names_is_found_once_and_by_its_own(place: Path) -> None:
    there = program(place / "bin" / "mariadbd", MARIADB)
    (place / "bin" / "mysqld").symlink_to(there)
    assert [server.path for server in find_servers("mariadb")] == [there]


def test_the_newest_of_a_kind_comes_first(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "_FOLDERS", (f"{place}/lib/*",))
    for version in ("9.6", "15.18", "15.9"):
        program(place / "lib" / version / "postgres", f"postgres (PostgreSQL) {version}")
    assert [server.version for server in find_servers("postgres")] == ["15.18", "15.9", "9.6"]


def test_a_server_that_was_unpacked_is_run_by_its_own_loader(place: Path) -> None:
    root = place / "cache" / "tdelta" / "servers" / "mysql-9.7.4"
    loader = program(root / "usr/lib/some-linux-gnu/ld-linux-some.so.2", f"by the loader: {MYSQL}")
    unpacked = program(root / "usr/sbin/mysqld", "not this way")
    (server,) = find_servers("mysql")
    assert server.path == unpacked
    assert server.root == root
    assert server.launcher == (str(loader), "--library-path", str(loader.parent))
    assert find_servers("mysql", unpacked) == (server,)


def test_a_program_that_is_named_is_taken_wherever_it_lies(place: Path) -> None:
    there = program(place / "home" / "my-server", POSTGRES)
    (server,) = find_servers("postgres", there)
    assert (server.kind, server.path, server.launcher) == ("postgres", there, ())


def test_a_named_program_that_is_another_says_what_was_found(place: Path) -> None:
    maria = program(place / "mysqld", MARIADB)
    with refused(EngineUnavailable, "unexpected", expected=Part("mysql"), found=Part("mariadb"), where="mysqld"):
        find_servers("mysql", maria)
    with refused(EngineUnavailable, "unexpected", found=Part("Hello"), where="hello", expected="a server's program"):
        find_servers("mysql", program(place / "hello", "Hello"))
    with refused(EngineUnavailable, "unexpected", where="nowhere", expected="a server's program"):
        find_servers("mysql", place / "nowhere")


@pytest.mark.parametrize(("kind", "remedy"), [("mariadb", Part("mariadb-server")), ("postgres", Part("postgresql"))])
def test_what_is_missing_is_said_with_its_remedy(place: Path, kind: str, remedy: Part) -> None:
    with refused(EngineUnavailable, "no-server", kind=kind, remedy=remedy):
        find_servers(kind)


def test_the_loader_of_a_program_is_read_from_its_head(tmp_path: Path) -> None:
    found = interpreter(Path(sys.executable).resolve())
    assert found is None or found.name.startswith("ld-")
    shell = interpreter(Path("/bin/sh").resolve())
    assert shell is not None
    assert shell.exists()
    assert interpreter(program(tmp_path / "script", "")) is None
    assert interpreter(tmp_path / "missing") is None


@pytest.mark.parametrize("below", ["bin/mariadbd", "sbin/mariadbd", "usr/sbin/mysqld", "mariadbd", "libexec/mysqld"])
def test_an_installation_is_named_by_its_prefix_its_folder_or_its_program(place: Path, below: str) -> None:
    there = program(place / "prefix" / below, MARIADB)
    for named in (place / "prefix", there.parent, there):
        assert [server.path for server in named_servers("mariadb", [named]).values()] == [there]


def test_all_that_is_wrong_with_versions_is_said_at_once_each_with_its_path(place: Path) -> None:
    (place / "empty").mkdir()
    good = program(place / "good" / "mariadbd", MARIADB)
    paths = {
        place / "nowhere": "unexpected",
        place / "empty": "unexpected",
        program(place / "postgres", POSTGRES): "unexpected",
        program(place / "old" / "mariadbd", MARIADB.replace("10.11.19", "10.5.3")).parent: "out-of-range",
        program(place / "hello", "Hello"): "unexpected",
    }
    with pytest.raises(EngineUnavailable) as raised:
        named_servers("mariadb", [good, *paths])
    assert [one.code for one in raised.value.refusals] == list(paths.values())
    assert all(f"--vary server={path}: " in str(raised.value) for path in paths)


def test_a_link_and_a_copy_are_the_same_program_and_another_build_is_not(place: Path) -> None:
    one = program(place / "one" / "mariadbd", MARIADB)
    copy, other = program(place / "copy" / "mariadbd", MARIADB), program(place / "other" / "mariadbd", MARIADB)
    other.write_text(f"{other.read_text()}# built otherwise\n")
    (place / "link").mkdir()
    (place / "link" / "mariadbd").symlink_to(one)
    first, link, copied, built = named_servers("mariadb", [one, place / "link", copy, other]).values()
    digest, *others = (build_of(one).digest() for one in (first, link, copied, built))
    assert [other == digest for other in others] == [True, True, False]
