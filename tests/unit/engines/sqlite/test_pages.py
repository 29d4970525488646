"""A page's cost is refused unless every scan found its rows and read its pages; no database is needed to test that."""

from pathlib import Path

import pytest

from tdelta.engines.sqlite import pages
from tdelta.engines.sqlite.pages import BODY_BYTES, PAGE_BYTES, PAGES, SCANS, Files
from tdelta.measure.aes import Preload, PreloadMode

WHOLE = str(PAGES * BODY_BYTES)


class Scanned:
    def __init__(self, file: Path, reads_bytes: int = PAGES * PAGE_BYTES, finds: str = WHOLE) -> None:
        file.write_bytes(bytes(reads_bytes))
        self._file = file
        self._finds = finds

    def text(self, _sql: str) -> str:
        self._file.read_bytes()
        return self._finds


def test_a_scan_that_reads_and_finds_everything_is_timed(tmp_path: Path) -> None:
    assert pages._scan_ns(Scanned(tmp_path / "file")) > 0


def test_a_scan_that_does_not_find_its_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\b512\b.*\b3900\b.*\b7\b"):
        pages._scan_ns(Scanned(tmp_path / "file", finds="7"))


def test_a_scan_out_of_the_cache_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="read"):
        pages._scan_ns(Scanned(tmp_path / "file", reads_bytes=PAGES * PAGE_BYTES // 2))


def test_a_kernel_that_does_not_count_reads_leaves_that_check_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "read_text", lambda _path: None)
    assert pages._scan_ns(Scanned(tmp_path / "file", reads_bytes=0)) > 0


def test_a_library_that_asks_cpuid_in_every_scan_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = iter(range(0, 10 * SCANS, SCANS))
    monkeypatch.setattr(pages, "preload", lambda: Preload(PreloadMode.PATCHING, answered=next(asked)))
    with pytest.raises(ValueError, match="CPUID"):
        pages._least_scans_ns([Scanned(tmp_path / "file")])


def test_each_twin_has_its_own_least_scan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times_ns = {"slow": 900, "fast": 100}
    monkeypatch.setattr(pages, "_scan_ns", lambda twin: times_ns[twin])
    assert pages._least_scans_ns(["slow", "fast"]) == [900, 100]


def test_the_key_is_not_in_what_is_printed_of_the_options() -> None:
    assert "secret" not in repr(Files(create={"key": "secret"}, open={"key": "secret"}))
