"""Bit flips of a store: every command that reads it gives the same answer, or a clear error.

From the root of the repository::

    python tests/chaos/store.py --tries 10000

A small run is made and stored. In each try one to three bits of a copy are flipped, and one of the commands that read
a store is called on it.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from counting import MOST_FAILURES, Tally, asked

from tdelta.cli.main import cli, guarded

LONGEST_CPU_SECONDS = 60.0
RUN = (
    *("run", "--size", "3MB", "--trial-time", "0.03s", "--blocks", "2", "--rounds", "2..2", "--max-time", "300s"),
    *("--seed", "1", "--no-bb", "--workload", "point-select"),
)
PAGE = Path("page.html")
COMMANDS = (
    ("show", "last"),
    ("show", "last", "--json"),
    ("show",),
    ("export", "last", "--format", "csv"),
    ("export", "last", "--format", "json"),
    ("report", "last", "--output", PAGE.name),
)
SAVED = Path("campaign-failures")


class Hang(BaseException):
    """One command took too long."""


def main() -> int:
    """Make a store, then flip, read, count."""
    ask = asked(__doc__ or "", 10_000)
    tally = Tally()
    signal.signal(signal.SIGPROF, _hang)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        saved = SAVED.absolute()
        os.chdir(folder)
        os.environ |= {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_DATA_HOME": str(folder / "data")}
        store = folder / "runs.sqlite"
        code, _, said = call((*RUN, "--store", str(store)))
        if code not in (0, 3, 4):
            print(said)
            return 1
        commands = [(*command, "--store", str(store)) for command in COMMANDS]
        expected = {command: call(command)[:2] for command in commands}
        content = store.read_bytes()
        there = _listed(folder)
        for number in ask.numbers:
            draw = random.Random(f"{ask.seed}/{number}")
            store.write_bytes(_flipped(draw, content))
            command = draw.choice(commands)
            outcome, failure = _judged(command, expected[command], str(store))
            if failure:
                saved.mkdir(exist_ok=True)
                kept = saved / f"store-{ask.seed}-{number}.sqlite"
                kept.write_bytes(_flipped(random.Random(f"{ask.seed}/{number}"), content))
                tally.failures.append(f"try {number}, saved as {kept}: {' '.join(command)}: {failure}")
            else:
                tally.outcomes[outcome] += 1
            if len(tally.failures) >= MOST_FAILURES:
                break
        tally.left_over = len(_listed(folder) - there)
    return tally.report("stores with flipped bits")


def _judged(command: tuple[str, ...], expected: tuple[int, str], store: str) -> tuple[str, str | None]:
    signal.setitimer(signal.ITIMER_PROF, LONGEST_CPU_SECONDS)
    try:
        code, out, said = call(command)
    except Hang:
        return "", f"more than {LONGEST_CPU_SECONDS:.0f} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if (code, out) == expected:
        return "the same answer", None
    if code == 2 and "error: " in said and len(said) < 3_000 and "defect" not in said:
        return "a clear error" if store in said or "run" in said else "an error without the store's name", None
    return "", f"exit {code}, {said[:500]!r}, {len(out)} characters of output where {len(expected[1])} were expected"


def call(command: Sequence[str]) -> tuple[int, str, str]:
    """A command in this process: exit code, standard output, standard error; the page with what is printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = guarded(lambda: cli.main(args=list(command), prog_name="tdelta", standalone_mode=False))
    page = PAGE.read_text(encoding="utf-8") if PAGE.name in command and code == 0 else ""
    return code, out.getvalue() + page, err.getvalue()


def _flipped(draw: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 3))):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _listed(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "cache" not in path.parts[-1]}


def _hang(_number: int, _frame: FrameType | None) -> None:
    raise Hang


if __name__ == "__main__":
    sys.exit(main())
