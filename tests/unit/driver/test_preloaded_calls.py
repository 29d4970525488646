"""The preload in a real process: calls into OpenSSL of a module that brought its library for itself alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tdelta.driver.evp_calls import Counts, environment, preload_path, read

MACS = """
import hashlib, hmac
hmac.digest(b"key", b"text", "sha256")
whole = hmac.new(b"key", digestmod="sha512")
for _ in range({updates}):
    whole.update(bytes({length}))
print(whole.hexdigest())
"""
UPDATES, LENGTH = 500, 1 << 16


def preloaded(path: Path, program: str) -> tuple[str, Counts]:
    """What a Python program prints with the preload, and what that counted."""
    if not preload_path().is_file():
        if os.environ.get("TDELTA_REQUIRE_ENGINES"):
            pytest.fail("the preload is not built: make setup builds it")
        pytest.skip("the preload is not built: make setup builds it")
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment(path)}, stdout=-1, text=True, check=True
    )
    return done.stdout, read(path)


def test_macs_of_a_module_are_what_they_are_without_it_and_are_counted(tmp_path: Path) -> None:
    program = MACS.format(updates=UPDATES, length=LENGTH)
    plain = subprocess.run([sys.executable, "-c", program], stdout=-1, text=True, check=True).stdout
    printed, counts = preloaded(tmp_path / "calls", program)
    assert printed == plain
    calls = [one for one in counts.since(Counts(0.0, {})) if one.kind == "mac"]
    if not calls:
        pytest.skip("this Python's OpenSSL is no shared library")
    (mac,) = calls
    assert mac.bytes == UPDATES * LENGTH + len(b"text")
    assert mac.calls >= UPDATES + 2  # Python copies a MAC's state to end it
    # Between 0.2 and 20 ns a byte: SHA-512 takes 1 to 3 on any machine of today.
    assert 0.2 < 1e3 * mac.us / mac.bytes < 20.0
    assert 0.0 < counts.own_ns < 2_000
