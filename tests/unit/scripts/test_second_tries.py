"""``scripts/test-python``: live tests may have a second try, and how many had one is its last line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "test-python"

# Fails in the first pass, with the tests of $FAILED, and does of a second try what $SECOND says.
FAKE_PYTEST = """#!/usr/bin/env bash
case " $* " in
    *" --last-failed "*) exit "$SECOND" ;;
    *"not alone"*) [ "$FAILED" = "{}" ] && exit 0 ;;
    *) exit 0 ;;
esac
cache=${2#cache_dir=}
mkdir -p "$cache/v/cache"
echo "$FAILED" >"$cache/v/cache/lastfailed"
exit 1
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with the script and an environment whose tests end as they are asked to."""
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "pytest").write_text(FAKE_PYTEST)
    (programs / "pytest").chmod(0o755)
    (tmp_path / "scripts").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    return tmp_path


def run(checkout: Path, failed: Sequence[str], second: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [checkout / "scripts" / "test-python", checkout / "venv"],
        env={"PATH": "/usr/bin:/bin", "FAILED": json.dumps(dict.fromkeys(failed, True)), "SECOND": str(second)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("failed", "second", "code", "tries"),
    [
        ((), 0, 0, 0),
        (["tests/live/a.py::test_a", "tests/live/a.py::test_b[x::y\n]"], 0, 0, 2),
        (["tests/live/a.py::test_a"], 1, 1, 1),
        (["tests/live/a.py::test_a", "tests/unit/b.py::test_b"], 0, 1, 0),
        ([f"tests/live/{name}.py::test" for name in "abcd"], 0, 1, 0),
    ],
    ids=["none failed", "two live ones", "a broken one", "a unit test beside", "of too many files"],
)
def test_the_last_line_says_how_many_tests_had_a_second_try(
    checkout: Path, failed: Sequence[str], second: int, code: int, tries: int
) -> None:
    ended = run(checkout, failed, second)
    assert ended.returncode == code, ended.stderr
    last = f"test-python: second tries: {tries}\n"
    assert ended.stdout.endswith(last)
    assert (checkout / "target" / "pytest" / "second-tries").read_text() == last
    assert all(ascii(test) in ended.stdout for test in failed) or not tries
