"""Pipes, devices, folders and sockets where a file is expected: refused with a sentence, and never waited for."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
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

PATIENCE_SECONDS = 20


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    signal.alarm(PATIENCE_SECONDS)
    yield
    signal.alarm(0)


@pytest.fixture(params=["pipe", "socket", "folder", "/dev/zero", "/dev/null"])
def special(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / request.param
    with socket.socket(socket.AF_UNIX) as listener:
        match request.param:
            case "pipe":
                os.mkfifo(path)
            case "socket":
                listener.bind("socket")
            case "folder":
                path.mkdir()
        yield path


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--store", "FILE"),
        ("show", "--store", "FILE"),
        ("report", "--store", "FILE"),
        ("export", "--format", "csv", "--store", "FILE"),
        ("verify", "last", "--store", "FILE"),
        ("run", "--database", "FILE"),
        ("run", "--dry-run", "--workload", "FILE"),
        ("analyze", "FILE", "FILE"),
    ],
    ids=lambda words: " ".join(words),
)
def test_it_is_refused_where_a_file_is_to_be_read(special: Path, words: tuple[str, ...]) -> None:
    ended = call(*(str(special) if word == "FILE" else word for word in words))
    assert ended.code == 2, ended.err
    assert str(special) in ended.err
    assert "defect" not in ended.err
    assert ended.out == ""


def test_files_to_verify_are_regular_and_a_folder_is_all_that_is_below_it(special: Path) -> None:
    ended = call("verify", str(special))
    assert ended.code == (3 if special.is_dir() else 2), ended.err  # nothing is said of what holds nothing
    assert "defect" not in ended.err


@pytest.mark.parametrize("words", [("analyze", "published:response-times", "--output", "FILE")])
def test_what_is_written_goes_to_no_folder_no_socket_and_no_pipe_that_nobody_reads(
    special: Path, words: tuple[str, ...]
) -> None:
    ended = call(*(str(special) if word == "FILE" else word for word in words))
    if special.is_char_device():
        assert ended.code in (0, 3), ended.err
        return
    assert ended.code == 2
    assert str(special) in ended.err
    assert "defect" not in ended.err


def test_a_page_goes_into_a_pipe_that_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE) as reading:
        command = [sys.executable, "-m", "tdelta", "analyze", "published:response-times"]
        give_up = PATIENCE_SECONDS
        ended = subprocess.run(
            [*command, "--output", str(tmp_path / "pipe")], capture_output=True, check=False, timeout=give_up
        )
        page, _ = reading.communicate(timeout=give_up)
    assert ended.returncode in (0, 3), ended.stderr
    assert page.startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--dry-run", "--dir", "PATH"),
        ("run", "--dry-run", "--workload", "PATH"),
        ("run", "--dry-run", "--library", "PATH"),
        ("show", "--store", "PATH"),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_path_that_no_system_takes_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = str(tmp_path / ("x" * 300))
    ended = call(*(path if word == "PATH" else word for word in words))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {path}: ")
    assert "File name too long" in ended.err


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
