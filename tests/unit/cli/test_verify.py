"""``tdelta verify`` on files of a test's own, and on a stored run."""

import io
import json
from pathlib import Path

import pytest

from support import samples as s
from support.refused import Coded, coded, has
from tdelta.cli import verify as command
from tdelta.design import stream
from tdelta.evidence.reading import ReadState
from tdelta.messages.checks import CHECKS, NO_MARKER
from tdelta.records import Phase
from tdelta.report.progress import PlainProgress

from .calling import call, stored


def noise(length: int) -> bytes:
    return stream(7, "verify").bytes(length)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    (made / "app.db").write_bytes(noise(100_000))
    return made


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return stored(tmp_path / "runs.sqlite", s.leaking())


def test_a_marker_that_is_found_ends_in_4_and_names_the_file(folder: Path) -> None:
    (folder / "app.db-journal").write_bytes(noise(5000) + "account 4711".encode("utf-16le"))
    done = call("verify", str(folder), "--marker", "account 4711")
    assert done.code == 4
    assert "app.db-journal" in done.out
    document = json.loads(call("verify", str(folder), "--marker", "account 4711", "--json").out)
    (found,) = (hit for one in document["files"] for hit in one["markers"])
    assert (found["encoding"], found["count"], found["first_offset"]) == ("utf-16le", 1, 5000)


def test_the_document_has_every_file_and_the_exit_code(folder: Path) -> None:
    done = call("verify", str(folder / "app.db"), "--json", "--marker", "account 4711")
    document = json.loads(done.out)
    assert (document["schema"], document["exit_code"], done.code) == ("tdelta.verify/1", 0, 0)
    (one,) = document["files"]
    assert (one["path"], one["state"], one["markers"]) == (str(folder / "app.db"), ReadState.LOOKS_RANDOM, [])
    assert one["statistics"]["by_block"][0]["random"] == 25
    assert [found["encoding"] for found in document["markers"][0]["searched"]] == ["utf-8", "utf-16le"]


def test_a_run_shows_its_evidence_again_and_ends_in_what_it_says(store: Path) -> None:
    done = call("verify", s.RUN_ID[:8], "--store", str(store))
    assert done.code == 4
    assert "LEAK 2,016" in done.out
    assert f"FAILED  {CHECKS[NO_MARKER]}" in done.out
    document = json.loads(call("verify", "last", "--store", str(store), "--json").out)
    assert (document["run_id"], document["path"], document["exit_code"]) == (s.RUN_ID, None, 4)
    assert [one["state"] for one in document["evidence"]].count("leak") == 1


def test_a_file_comes_before_a_run_of_that_name(store: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "last").write_bytes(noise(5000))
    assert "last" in call("verify", "last", "--store", str(store)).out
    assert call("verify", "last", "--store", str(store)).code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("/no/such/thing",), coded("path-unusable", path="/no/such/thing", fault="No such file or directory")),
        (("1999",), coded("neither-files-nor-run", run="1999")),
        (("last", "--marker", "account 4711"), coded("path-unusable", path="last")),
        (("/dev/null",), coded("path-unusable", path="/dev/null")),
    ],
)
def test_what_is_neither_file_nor_run_is_told(store: Path, words: tuple[str, ...], told: Coded) -> None:
    done = call("verify", *words, "--store", str(store))
    assert (done.code, done.out) == (2, "")
    assert has(done.refusals, told), done.refusals
    assert "Traceback" not in done.err


def test_markers_that_are_none_are_named_before_anything_is_read(folder: Path) -> None:
    done = call("verify", str(folder), "--marker", "a", "--marker", "hex:0")
    assert (done.code, done.out) == (2, "")
    assert len([line for line in done.err.splitlines() if "--marker" in line]) == 2


def test_a_long_reading_says_how_far_it_is_and_a_short_one_does_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.0, 0.5, 1.5, 2.5])
    monkeypatch.setattr(command.time, "monotonic", lambda: next(seconds))
    events: list[Phase] = []
    tick = command._tick(events.append, (folder / "app.db",))
    for done in (10, 50_000, 100_000):
        tick("bytes", done)
    assert [(event.name, event.detail) for event in events] == [("reading", "1 file, 97.66 KiB")] * 2
    stream_ = io.StringIO()
    for event in events:
        PlainProgress(stream_)(event)
    assert stream_.getvalue().startswith("reading: 1 file, 97.66 KiB\n")
