"""The commands of README and of the tutorial are run, in their order, as a reader would; runs are made short."""

import re
import shlex
import sqlite3
from pathlib import Path

import pytest

from support.running import SMALL, Place

ROOT = Path(__file__).parents[3]
ENDINGS = {0, 3, 5}
"""Answered, undecided, over the budget: a short run on a busy machine may be any of them."""


def documented(page: str) -> list[list[str]]:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("tdelta ")]
    return [shlex.split(line, comments=True)[1:] for line in lines]


def shortened(words: list[str]) -> list[str]:
    if words[0] != "run" or "--dry-run" in words or "--write-workload" in words:
        return words
    kept = [word for before, word in zip(["", *words], words, strict=False) if "--max-time" not in (before, word)]
    return [*kept, *(SMALL[2:] if "--database" in words else SMALL)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    with sqlite3.connect(tmp_path / "app.db") as db:
        db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, born INTEGER)")
        names = (("Mary Smith" if number % 7 else "Jones", 1900 + number % 100) for number in range(5000))
        db.executemany("INSERT INTO person (name, born) VALUES (?, ?)", names)
    for condition in ("plain", "tde"):
        (tmp_path / condition).mkdir()
        for run in range(3):
            base = 1.0 if condition == "plain" else 1.1
            rows = "".join(f"{base + 0.01 * number + 0.003 * run}\n" for number in range(20))
            (tmp_path / condition / f"{run}.csv").write_text(f"latency_ms\n{rows}", encoding="utf-8")
    return Place(tmp_path)


@pytest.mark.timeout(900)  # a dozen runs, one after another
@pytest.mark.parametrize("page", ["docs/tutorial.md", "README.md"])
def test_the_commands_of_a_page_work_one_after_another(page: str, place: Place) -> None:
    for words in documented(page):
        if "--engine" in words:
            continue  # servers have tests of their own
        ran = place.tdelta(*shortened(words))
        endings = {4} if words[0] == "verify" else ENDINGS  # the marker lies in a plain file
        assert ran.code in endings, (words, ran.code, ran.err)
        assert "Traceback" not in ran.err
