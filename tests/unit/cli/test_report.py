import webbrowser
from pathlib import Path

import pytest

from support import samples as s
from support import stored as t
from tdelta.store import Store

from .calling import Called, call


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with the factorial and one small run more; the command runs in its folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    path = t.store_factorial(tmp_path / "runs.sqlite", has_leak=False, rounds=1, blocks=2)
    run = s.slower()
    with Store.open(path) as opened:
        opened.create_run(run.settings, run.machine, run.versions)
        opened.finish(s.RUN_ID, run)
    return path


def report(store: Path, *words: str) -> Called:
    return call("report", *words, "--store", str(store))


def test_the_page_goes_where_the_run_says_and_its_name_to_standard_output(store: Path) -> None:
    done = report(store)
    assert (done.code, done.out) == (0, f"tdelta-{s.RUN_ID}.html\n")
    assert (
        Path(f"tdelta-{s.RUN_ID}.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html><!-- tdelta report: run")
    )


def test_progress_goes_to_standard_error_alone(store: Path) -> None:
    done = report(store, "fctr", "--output", "page.html")
    assert done.out == "page.html\n"
    assert [line.split(" [")[0] for line in done.err.splitlines()] == [  # after a second lines have the time
        f"read: run {t.RUN_ID}",
        "read: response times",
    ]


def test_a_file_that_is_no_report_is_kept_unless_forced(store: Path) -> None:
    Path("mine.html").write_text("mine", encoding="utf-8")
    assert report(store, "--output", "mine.html").code == 2
    assert Path("mine.html").read_text(encoding="utf-8") == "mine"
    assert report(store, "--output", "mine.html", "--force").code == 0


def test_without_a_display_no_browser_is_started_and_the_page_is_there_all_the_same(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: pytest.fail("a browser was started"))
    done = report(store, "--open")
    assert done.code == 0
    assert f"open tdelta-{s.RUN_ID}.html yourself" in done.err


@pytest.mark.parametrize("can_start", [True, False])
def test_with_a_display_the_browser_gets_the_file(
    store: Path, monkeypatch: pytest.MonkeyPatch, can_start: bool
) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or can_start)
    done = report(store, "--open", "--output", "page.html")
    assert opened == [(store.parent / "page.html").as_uri()]
    assert ("open page.html yourself" in done.err) is not can_start


def test_several_runs_have_one_page(store: Path) -> None:
    done = report(store, "fctr", s.RUN_ID)
    page = Path(done.out.strip()).read_text(encoding="utf-8")
    assert (done.code, done.out) == (0, "tdelta-runs.html\n")
    assert page.count("<figure id=") == 2
    assert report(store, "fctr", s.RUN_ID, "--against", "fctr").code == 2
