from pathlib import Path

import pytest

from support import samples as s
from support import stored as t
from support.refused import refused
from tdelta.errors import StorageFault, UsageError
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render, write_page
from tdelta.report.page.gather import RunData

PAGE = render(compose(RunData(s.slower(), t.CREATED)))


def test_a_page_is_written_and_replaced_by_a_newer_one(tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    write_page(PAGE, path)
    write_page(PAGE.replace("SLOWER", "Older"), path)
    assert "Older" in path.read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["run.html"]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("there", ["", "mine", "<!DOCTYPE html>\n<html>", "<!DOCTYPE html><!-- another -->"])
def test_another_file_is_left_as_it_is_unless_forced(tmp_path: Path, there: str) -> None:
    path = tmp_path / "mine.html"
    path.write_text(there, encoding="utf-8")
    with refused(UsageError, "file-exists", path=path):
        write_page(PAGE, path)
    assert path.read_text(encoding="utf-8") == there
    write_page(PAGE, path, force=True)
    assert path.read_text(encoding="utf-8") == PAGE


def test_a_link_keeps_pointing_to_the_file_that_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "target.html", tmp_path / "link.html"
    target.write_text(PAGE, encoding="utf-8")
    link.symlink_to(target)
    write_page(PAGE, link)
    assert link.is_symlink()


def test_a_folder_that_is_missing_is_a_message(tmp_path: Path) -> None:
    with refused(StorageFault, "path-unusable", path="run.html", fault="No such file or directory"):
        write_page(PAGE, tmp_path / "nowhere" / "run.html")
