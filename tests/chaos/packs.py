"""Packs by mutation: every command that reads one gives the same answer, or a clear error, and leaves nothing.

From the root of the repository::

    python tests/chaos/packs.py --tries 100000

A small run is made, stored and packed. In a third of the tries the file itself is changed, as by accident; its digest
or gzip's own must show that. In the others its text is, and the digest is made anew, as a stranger would: then the
codec, and what is made of the records, must take or refuse it. Values that differ may give another answer, whole.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import hashlib
import io
import json
import os
import random
import resource
import signal
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from counting import Tally, asked, count_in_children

from support.mutations import mutated
from tdelta.cli.main import cli, guarded

LONGEST_CPU_SECONDS = 30.0
LONGEST_SECONDS = 180.0
MEMORY_BYTES = 1 << 30
RUN = (
    *("run", "--size", "3MB", "--trial-time", "0.03s", "--blocks", "2", "--rounds", "2..2", "--max-time", "300s"),
    *("--seed", "1", "--no-bb", "--workload", "point-select"),
)
PACK, PAGE, STORE = Path("run.tdelta"), Path("page.html"), Path("opened.sqlite")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("show", PACK.name),
    ("show", PACK.name, "--json"),
    ("export", PACK.name, "--format", "csv"),
    ("export", PACK.name, "--format", "json"),
    ("report", PACK.name, "--output", PAGE.name),
    ("analyze", PACK.name, "--latency-limit", "1ms", "--json"),
    ("import", PACK.name, "--store", STORE.name),
)
VALUES: tuple[Any, ...] = (
    *(
        0,
        -1,
        1,
        2**63,
        -(2**70),
        0.0,
        -0.5,
        1e308,
        1e-320,
        "nan",
        "inf",
        "-inf",
        "",
        "x",
        "\x1b[2J",
        "../../etc/passwd",
    ),
    *("<script>alert(1)</script>", "\ud800", "a" * 10_000, None, True, [], {}, [[[]]], {"a": 1}, ["x"] * 1000),
)
SAVED = Path("campaign-failures")


class Hang(BaseException):
    """One command took too long."""


def main() -> int:
    """Make a pack, then mutate, read, count."""
    ask = asked(__doc__ or "", 100_000)
    tally = Tally()
    saved = SAVED.absolute()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.environ |= {"XDG_CACHE_HOME": f"{place}/cache", "XDG_DATA_HOME": f"{place}/data", "TMPDIR": place}
        for words in (RUN, ("pack", "last", "-o", PACK.name)):
            code, _, said = call(words)
            if code not in (0, 3, 4):
                print(said)
                return 1
        good = PACK.read_bytes()
        expected = {command: call(command)[:2] for command in COMMANDS}
        there = {path.name for path in Path(place).iterdir()}
        signal.signal(signal.SIGPROF, _hang)

        def judged(number: int) -> tuple[str, str]:
            _bound_memory()
            draw = random.Random(f"{ask.seed}/{number}")
            content, is_resealed = _mutated(draw, good)
            PACK.write_bytes(content)
            command = COMMANDS[number % len(COMMANDS)]
            outcome, fault = _judged(command, expected[command], is_resealed=is_resealed)
            left = {path.name for path in Path(place).iterdir()} - there
            return outcome, fault or (f"left {left}" if left else "")

        def kept(number: int) -> Path:
            saved.mkdir(exist_ok=True)
            path = saved / f"pack-{ask.seed}-{number}.tdelta"
            path.write_bytes(_mutated(random.Random(f"{ask.seed}/{number}"), good)[0])
            return path

        count_in_children(ask.numbers, judged, kept, LONGEST_SECONDS, tally)
        os.chdir(saved.parent)
    return tally.report("packs")


def _mutated(draw: random.Random, good: bytes) -> tuple[bytes, bool]:
    """The content of a changed pack, and whether its digest was made anew."""
    if draw.random() < 1 / 3:
        return mutated(draw, good, good), False
    lines = gzip.decompress(good).splitlines(keepends=True)[:-1]
    if draw.random() < 0.2:
        text = mutated(draw, b"".join(lines), lines[0])
    else:
        at = draw.choice((0, draw.randrange(len(lines))))
        value = json.loads(lines[at])
        for _ in range(draw.choice((1, 1, 2, 5))):
            _change(draw, value)
        lines[at] = json.dumps(value, separators=(",", ":")).encode() + b"\n"
        text = b"".join(lines)
    digest = json.dumps({"digest": hashlib.sha256(text).hexdigest()}, separators=(",", ":"))
    return gzip.compress(text + digest.encode() + b"\n", 1), True


def _change(draw: random.Random, value: Any) -> None:
    """Change something within a JSON value, however deep: another value, one too few, one twice, one too many."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = draw.choice(keys)
        if isinstance(value[key], dict | list) and value[key] and draw.random() < 0.85:
            value = value[key]
            continue
        match draw.randrange(4):
            case 0:
                del value[key]
            case 1 if isinstance(value, list):
                value.append(copy.deepcopy(value[key]))
            case 1:
                value[draw.choice(("x", "finding", "text"))] = copy.deepcopy(value[key])
            case 2 if isinstance(value[key], int | float) and not isinstance(value[key], bool):
                value[key] *= draw.choice((-1, 2, 0.5, 1000, 1e-9))
            case _:
                value[key] = copy.deepcopy(draw.choice(VALUES))  # else the next change is one of VALUES
        return


def _judged(command: tuple[str, ...], expected: tuple[int, str], *, is_resealed: bool) -> tuple[str, str]:
    signal.setitimer(signal.ITIMER_PROF, LONGEST_CPU_SECONDS)
    try:
        code, out, said = call(command)
    except Hang:
        return "", f"{' '.join(command)}: more than {LONGEST_CPU_SECONDS:.0f} s"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if (code, out) == expected:
        return "the same answer", ""
    if code == 2 and "error: " in said and len(said) < 3_000 and not _moves(said) and "defect" not in said:
        return "a clear error", "" if PACK.name in said else "an error without the pack's name"
    if is_resealed and code in (0, 3, 4, 5, 130) and out and not _moves(out):
        return "another answer", ""
    return "", f"{' '.join(command)}: exit {code}, {said[-700:]!r}, {len(out)} characters of output"


def _moves(text: str) -> bool:
    """Whether something in a text moves a terminal's cursor."""
    return "\x1b" in text or "\x9b" in text


def call(command: Sequence[str]) -> tuple[int, str, str]:
    """A command in this process: exit code, standard output, standard error; the page with what is printed."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = guarded(lambda: cli.main(args=list(command), prog_name="tdelta", standalone_mode=False))
    page = PAGE.read_text(encoding="utf-8") if PAGE.name in command and code == 0 else ""
    for path in (PAGE, STORE, Path(f"{STORE}-journal")):
        path.unlink(missing_ok=True)
    return code, out.getvalue() + page, err.getvalue()


def _hang(_number: int, _frame: FrameType | None) -> None:
    raise Hang


@cache
def _bound_memory() -> None:
    """Once in each child."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    sys.exit(main())
