"""``scripts/test-python`` and ``scripts/test-rust``: a few may have a second try; how many had one is the last line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"

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
    for name in ("test-python", "test-rust"):
        shutil.copy(SCRIPTS / name, tmp_path / "scripts")
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
        (["tests/live/a.py::test_a", "tests/unit/b.py::test_b"], 0, 0, 2),
        (["tests/unit/b.py::test_b"], 1, 1, 1),
        ([f"tests/live/{name}.py::test" for name in "abcd"], 0, 1, 0),
    ],
    ids=[
        "none failed",
        "two live ones",
        "a broken one",
        "a unit test beside",
        "a broken unit test",
        "of too many files",
    ],
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


# Ends the first time as its test binaries did, of which one may have died; then, asked for $AGAIN, as $SECOND says.
FAKE_CARGO = """#!/usr/bin/env bash
if [[ " $* " == *" --exact "* ]]; then
    words=$*
    [ "${words#*--test-threads=1 }" = "$AGAIN" ] || exit 77
    echo "test result: ok. $PASSED passed; 0 failed; 0 ignored"
    exit "$SECOND"
fi
cat "$PRINTED"
exit "$FIRST"
"""

PASSED = "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n"
TARGETS = "error: 1 target failed:\n    `-p tdelta-core --lib`\n"


def failures(*tests: str) -> str:
    """What a test binary prints of tests that failed."""
    said = "".join(f"---- {test} stdout ----\nthread panicked\n    indented::words of it\n\n" for test in tests)
    names = "".join(f"    {test}\n" for test in tests)
    return f"\nfailures:\n\n{said}\nfailures:\n{names}\ntest result: FAILED. 1 passed; {len(tests)} failed\n\n"


@pytest.mark.parametrize(
    ("printed", "first", "again", "passed", "second", "code", "tries"),
    [
        (PASSED, 0, "", 0, 0, 0, 0),
        (PASSED + failures("a::tests::one", "b::two") + TARGETS, 101, "a::tests::one b::two", 2, 0, 0, 2),
        (failures("a::tests::one") + PASSED + TARGETS, 101, "a::tests::one", 0, 101, 101, 1),
        (failures("a::tests::one") + TARGETS, 101, "a::tests::one", 0, 0, 1, 1),
        (failures(*(f"a::t{n}" for n in range(4))) + TARGETS, 101, "", 4, 0, 101, 0),
        (failures("a::one") + TARGETS + "    `-p no-aes --lib`\n", 101, "", 1, 0, 101, 0),
        ("error: could not compile `tdelta-core`\n", 101, "", 0, 0, 101, 0),
    ],
    ids=["none failed", "two", "a broken one", "one not found again", "too many", "a binary that died", "no binary"],
)
def test_a_few_rust_tests_are_run_again_and_what_is_broken_fails(
    checkout: Path, printed: str, first: int, again: str, passed: int, second: int, code: int, tries: int
) -> None:
    cargo = checkout / "venv" / "bin" / "cargo"
    cargo.write_text(FAKE_CARGO)
    cargo.chmod(0o755)
    (checkout / "printed").write_text(printed)
    ends = {"FIRST": str(first), "PASSED": str(passed), "SECOND": str(second)}
    asked = {"PRINTED": str(checkout / "printed"), "AGAIN": again, **ends}
    ended = subprocess.run(
        [checkout / "scripts" / "test-rust"],
        env={"PATH": f"{cargo.parent}:/usr/bin:/bin", **asked},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    assert printed in ended.stdout
    assert ended.stdout.endswith(f"test-rust: second tries: {tries}\n")
    assert (checkout / "target" / "rust-tests" / "second-tries").read_text() == f"test-rust: second tries: {tries}\n"
