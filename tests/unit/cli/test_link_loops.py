"""Links that lead in a circle, wherever a command takes a path to write to: an error that names them."""

from pathlib import Path

import pytest

from tdelta.errors import TdeltaError
from tdelta.inputs import real_path
from tdelta.measure.space import free_disk_bytes, require_writable
from tdelta.report.page.file import require_place, write_page
from tdelta.store.export import opened_bytes
from tdelta.workloads.model import Workload
from tdelta.workloads.user_workload import write_user_workload

from .calling import call

LOOP = "Too many levels of symbolic links"


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    return tmp_path / "a"


def exported(path: Path) -> None:
    with opened_bytes(path):
        pytest.fail("there is nowhere to write to")


def written(path: Path) -> None:
    workload = Workload("n", 1, "t", "", (), (), 1, 0)
    write_user_workload(workload, path, ())


@pytest.mark.parametrize(
    "act",
    [
        lambda path: write_page("", path),
        require_place,
        exported,
        written,
        require_writable,
        free_disk_bytes,
        lambda path: require_writable(path / "below"),
    ],
)
def test_a_loop_is_named(loop: Path, act: object) -> None:
    assert callable(act)
    with pytest.raises(TdeltaError, match=LOOP):
        act(loop)
    assert loop.is_symlink()


def test_a_project_file_that_is_a_loop_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tdelta.toml").symlink_to("tdelta.toml")
    done = call("init", "--engine", "sqlite")
    assert done.code == 2
    assert LOOP in done.err


def test_a_link_to_what_is_not_there_yet_is_no_loop(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    assert real_path(tmp_path / "link") == tmp_path / "target"
