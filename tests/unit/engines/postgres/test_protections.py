from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.engines.postgres import driver
from tdelta.engines.postgres.actions import tools
from tdelta.engines.postgres.driver import extension_version, protected
from tdelta.engines.postgres.storage import Gocryptfs
from tdelta.engines.postgres.tde import PgTde
from tdelta.engines.server.base import ServerBinary
from tdelta.errors import EngineUnavailable, EnvironmentFault, UsageError


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o700)
    return path


@pytest.fixture
def binary(tmp_path: Path) -> ServerBinary:
    """A server whose share folder is told by the ``pg_config`` beside it."""
    share = tmp_path / "share"
    (share / "extension").mkdir(parents=True)
    program(tmp_path / "bin/pg_config", f'#!/bin/sh\n[ "$1" = --sharedir ] && echo "{share}"\n')
    return ServerBinary("postgres", "PostgreSQL", tmp_path / "bin/postgres", "17.2", "postgres (PostgreSQL) 17.2")


@pytest.fixture
def gocryptfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(driver, "_FUSE_DEVICE", Path("/dev/null"))
    return program(tmp_path / "path/gocryptfs")


def test_a_server_without_extension_is_encrypted_below(binary: ServerBinary, gocryptfs: Path) -> None:
    server = protected(binary, {})
    assert isinstance(server, Gocryptfs)
    assert server.program == gocryptfs


@pytest.mark.parametrize("extension", ["pg_tde", "open_pg_tde"])
def test_a_server_that_has_pg_tde_or_its_fork_encrypts_itself(
    binary: ServerBinary, tmp_path: Path, gocryptfs: Path, extension: str
) -> None:
    (tmp_path / f"share/extension/{extension}.control").touch()
    server = protected(binary, {})
    assert isinstance(server, PgTde)
    assert server.extension == extension


def test_a_server_without_pg_config_has_no_extension_that_could_be_seen(binary: ServerBinary, tmp_path: Path) -> None:
    (tmp_path / "share/extension/pg_tde.control").touch()
    assert extension_version(binary, "pg_tde") == ""
    (tmp_path / "bin/pg_config").unlink()
    assert extension_version(binary, "pg_tde") is None


@pytest.mark.parametrize(("version", "is_taken"), [("2.1", False), ("2.2", True), ("2.10", True), ("3", True)])
def test_a_pg_tde_without_a_setting_for_its_cipher_is_refused(
    binary: ServerBinary, tmp_path: Path, version: str, is_taken: bool
) -> None:
    control = f"comment = 'pg_tde access method'\ndefault_version = '{version}'\n"
    (tmp_path / "share/extension/pg_tde.control").write_text(control)
    if is_taken:
        assert isinstance(protected(binary, {}), PgTde)
        return
    with refused(EngineUnavailable, "out-of-range", what="pg_tde", found=version):
        protected(binary, {})


def test_without_gocryptfs_the_remedy_is_named(binary: ServerBinary, gocryptfs: Path) -> None:
    gocryptfs.unlink()
    with refused(EngineUnavailable, "program-missing"):
        protected(binary, {})


def test_without_the_fuse_device_the_remedy_is_named(
    binary: ServerBinary, gocryptfs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_FUSE_DEVICE", Path("/dev/not-there"))
    with refused(EnvironmentFault, "path-unusable", path="/dev/not-there"):
        protected(binary, {})


def test_a_folder_of_the_users_comes_first_and_must_be_encrypted(binary: ServerBinary, tmp_path: Path) -> None:
    (tmp_path / "share/extension/pg_tde.control").touch()
    with refused(UsageError, "folder-not-encrypted", option=Part("shm")):
        protected(binary, {"encrypted_dir": Path("/dev", "shm")})


def test_pg_tdes_own_program_makes_base_backups_where_it_lies_beside_the_server(tmp_path: Path) -> None:
    assert tools(tmp_path / "postgres")["basebackup"].tool.programs[0].name == str(tmp_path / "pg_basebackup")
    (own := tmp_path / "pg_tde_basebackup").touch()
    assert tools(tmp_path / "postgres")["basebackup"].tool.programs[0].name == str(own)
