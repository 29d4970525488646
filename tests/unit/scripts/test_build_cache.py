"""``scripts/build-cache``: a fresh checkout goes on with an earlier one's build, and never with a stale part of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "build-cache"
LONG_AGO_NS = 10**18


class Checkout:
    """A folder with two sources, made anew each time as a clone makes it."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "checkout"
        self._environment = os.environ | {"XDG_CACHE_HOME": str(base / "cache")}
        self.compiler(base, "rustc 1")

    def compiler(self, base: Path, version: str) -> None:
        program = base / "bin" / "rustc"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{version}'\n")
        program.chmod(0o755)
        self._environment["PATH"] = f"{program.parent}:{os.environ['PATH']}"

    def fresh(self, **contents: str) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "scripts").mkdir(parents=True)
        (self.folder / "crates").mkdir()
        shutil.copy(SCRIPT, self.folder / "scripts")
        (self.folder / "Cargo.toml").write_text("[workspace]\n")
        for name in ("a", "b"):
            (self.folder / "crates" / f"{name}.rs").write_text(contents.get(name, name))

    def ask(self, word: str, **environment: str) -> str:
        ran = subprocess.run(
            [self.folder / "scripts" / "build-cache", word],
            env=self._environment | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.strip()

    def times(self) -> dict[str, int]:
        return {path.stem: path.stat().st_mtime_ns for path in (self.folder / "crates").iterdir()}

    def built(self) -> tuple[str, dict[str, int]]:
        """Open the cache, build, close it: the target's folder, and the sources' times while it was built."""
        target = self.ask("open")
        self.ask("close", CARGO_TARGET_DIR=target)
        return target, self.times()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = Checkout(tmp_path)
    made.fresh()
    return made


def test_the_same_content_has_the_time_it_was_built_at_and_changed_content_the_present(checkout: Checkout) -> None:
    target, before = checkout.built()
    checkout.fresh(b="changed")
    for path in (checkout.folder / "crates").iterdir():
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))  # an archive keeps old times, which say nothing
    again, after = checkout.built()
    assert again == target
    assert after["a"] == before["a"]
    assert after["b"] > before["b"]


def test_content_that_comes_back_is_built_again(checkout: Checkout) -> None:
    _, first = checkout.built()
    checkout.fresh(b="changed")
    checkout.built()
    checkout.fresh()
    assert checkout.built()[1]["b"] > first["b"]


def test_after_a_build_that_failed_everything_is_built_again(checkout: Checkout) -> None:
    _, first = checkout.built()
    checkout.fresh(b="does not compile")
    checkout.ask("open")
    checkout.fresh()
    assert all(time > first[name] for name, time in checkout.built()[1].items())


def test_another_compiler_or_manifest_has_another_folder_and_two_are_kept(checkout: Checkout, tmp_path: Path) -> None:
    targets = [checkout.built()[0]]
    checkout.compiler(tmp_path, "rustc 2")
    targets.append(checkout.built()[0])
    (checkout.folder / "Cargo.toml").write_text("[workspace]\nmembers = []\n")
    targets.append(checkout.built()[0])
    assert len(set(targets)) == 3
    assert [Path(target).parent.exists() for target in targets] == [False, True, True]


def test_a_checkout_with_a_build_of_its_own_is_left_alone(checkout: Checkout) -> None:
    before = checkout.times()
    (checkout.folder / "target" / "debug").mkdir(parents=True)
    assert checkout.ask("open") == ""
    assert checkout.times() == before
    checkout.ask("close")
    assert checkout.times() == before
