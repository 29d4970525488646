import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.refused import refused
from tdelta.errors import UsageError
from tdelta.session.project_file import FILE, found_above

STRANGER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user, which only root may")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a project file; ``below`` it somebody is at work."""
    folder = tmp_path / "project"
    (folder / "below").mkdir(parents=True)
    (folder / FILE).write_text("threads = 2\n")
    return folder


def test_a_file_of_ones_own_is_found_also_where_its_group_may_write(project: Path) -> None:
    project.chmod(0o775)
    (project / FILE).chmod(0o664)
    assert found_above(project / "below") == project / FILE


@needs_root
@pytest.mark.parametrize("name", [FILE, "."])
def test_what_another_user_owns_is_not_obeyed(project: Path, name: str) -> None:
    os.chown(project / name, STRANGER, STRANGER)
    with refused(UsageError, "project-not-trusted", name=project / FILE):
        found_above(project / "below")


@pytest.mark.parametrize(("name", "mode"), [(FILE, 0o666), (".", 0o777), (".", 0o1777)])
def test_what_everybody_may_write_to_is_not_obeyed(project: Path, name: str, mode: int) -> None:
    (project / name).chmod(mode)
    with refused(UsageError, "project-not-trusted", path=project / FILE):
        found_above(project / "below")


def test_a_link_is_trusted_as_far_as_what_it_leads_to(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (project / FILE).rename(elsewhere / FILE)
    (project / FILE).symlink_to(elsewhere / FILE)
    assert found_above(project) == project / FILE
    elsewhere.chmod(0o777)
    with refused(UsageError, "project-not-trusted", name=project / FILE):
        found_above(project)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("../submodule/tdelta.toml"),
        lambda path: path.symlink_to(path.name),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.mkdir(),
        os.mkfifo,
    ],
    ids=["dangling", "loop", "device", "folder", "pipe"],
)
def test_a_file_that_cannot_be_read_is_an_error_and_no_run_without_it(
    project: Path, make: Callable[[Path], object]
) -> None:
    (project / "below" / FILE).unlink(missing_ok=True)
    make(project / "below" / FILE)
    with refused(UsageError, "project-unreadable", path=project / "below" / FILE):
        found_above(project / "below")
