"""These need a Chromium of the system and the package playwright; no browser is downloaded.

The pages are of a real small run, of the made-up factorial (valid, and with a leak), of both side by side, of a made-up
sweep on servers, and of what `tdelta analyze` makes of other results.
"""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.running import Place

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PAGES = ("real", "valid", "leaking", "served", "analysis", "published")
_ENDED = (0, 3, 4)
"""Answered, undecided, invalid: a busy machine may do any of these to a run of some seconds."""


def executable() -> str:
    """The system's Chromium; without one the tests skip, but never where TDELTA_REQUIRE_ENGINES is set."""
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    message = "no Chromium: apt-get install chromium"
    if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    path = executable()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        if os.environ.get("TDELTA_REQUIRE_ENGINES") == "1":
            raise
        pytest.skip("no playwright: pip install playwright")
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=flags)
        yield started
        started.close()


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from support import samples as s
    from support import stored as t

    place = Place(tmp_path_factory.mktemp("report"))
    small = ("--size", "5MB", "--trial-time", "0.05s", "--blocks", "3", "--rounds", "2..3", "--max-time", "60s")
    ran = place.tdelta("run", *small, "--vary", "cipher=aes-128,aes-256", "--inject", "20%", "--seed", "7")
    assert ran.code in _ENDED, ran.err
    t.store_factorial(place.base / "valid.sqlite", has_leak=False)
    t.store_factorial(place.base / "leaking.sqlite")
    t.store_run(place.base / "served.sqlite", s.served_sweep(), ())
    words = {
        "real": ("last",),
        "valid": ("--store", "valid.sqlite"),
        "leaking": ("--store", "leaking.sqlite"),
        "served": ("--store", "served.sqlite"),
    }
    for name, arguments in words.items():
        written = place.tdelta("report", *arguments, "--output", f"{name}.html")
        assert (written.code, written.out) == (0, f"{name}.html\n"), written.err
    analyses = {"analysis": _samples(place.base), "published": ("published:read-only-sweep",)}
    for name, arguments in analyses.items():
        written = place.tdelta("analyze", *arguments, "--output", f"{name}.html")
        assert written.code in _ENDED, written.err
    return {name: place.base / f"{name}.html" for name in (*words, *analyses)}


def _samples(folder: Path) -> tuple[str, ...]:
    """Response times of two transaction types, as two other tools' runs would leave them."""
    draw = random.Random(5)
    for name, slower in (("plain", 1.0), ("tde", 1.2)):
        rows = [
            f"{kind},{draw.gammavariate(3.0, 4.0 * slower):.4f}" for kind in ("browse", "order") for _ in range(2000)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["transaction,response_ms", *rows, ""]), encoding="utf-8")
    return ("plain.csv", "tde.csv")
