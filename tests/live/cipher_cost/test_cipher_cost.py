"""``tdelta cipher-cost`` as users run it, and the processes behind it.

What is asserted of times are effects many times larger than any noise: AES without its instructions takes several times
as long, while HMAC, which must not be touched, does not.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from support.texts import has_no_answer
from tdelta.measure.cipher_cost import measure_cipher_cost
from tdelta.measure.machine import parse_cpuinfo

pytestmark = pytest.mark.alone


HEARS_CTRL_C = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
"""A shell that starts tests in the background has them, and what they start, ignore it."""

PROGRAM = "from tdelta.cli.main import main; main()"
SMALL = ("--sizes", "4k,16k", "--max-time", "4s")
PATIENCE_SECONDS = 120.0
HAS_AES = "aes" in parse_cpuinfo(Path("/proc/cpuinfo").read_text()).flags and os.uname().machine == "x86_64"
needs_aes = pytest.mark.skipif(not HAS_AES, reason="this CPU has no AES instructions to hide")


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", f"{HEARS_CTRL_C}; {PROGRAM}", "cipher-cost", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )


def cipher_cost(*arguments: str) -> tuple[int, str, str]:
    process = start(*arguments)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, out, err


def children_of(pid: int) -> list[int]:
    marks = (b"tdelta.processes.cipher_cost_worker", str(pid).encode())
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if all(mark in words for mark in marks):
            found.append(int(folder.name))
    return found


def children_left(pid: int) -> list[int]:
    """Those that outlive it, after the kernel has had time to end them."""
    give_up = time.monotonic() + 20.0
    while (left := children_of(pid)) and time.monotonic() < give_up:
        time.sleep(0.02)
    return left


@pytest.fixture(scope="module")
def document() -> Any:
    code, out, err = cipher_cost("--json", *SMALL)
    assert code == 0, err
    return json.loads(out)


def us_per_page(document: Any, algorithm: str, mode: str | None, direction: str, level: str) -> float:
    wanted = (algorithm, mode, 16384, direction, level)
    names = ("algorithm", "mode", "page_bytes", "direction", "aes_instructions")
    least = [cell["us_per_page_least"] for cell in document["cells"] if tuple(cell[name] for name in names) == wanted]
    (found,) = least  # of all passes: what the machine's speed has the smallest part in
    return float(found)


@needs_aes
def test_every_cell_is_measured_at_both_levels(document: Any) -> None:
    names = ("algorithm", "mode", "page_bytes", "direction", "aes_instructions")
    assert len({tuple(cell[name] for name in names) for cell in document["cells"]}) == len(document["cells"]) == 100
    for cell in document["cells"]:
        low, high = cell["us_per_page_quartiles"]
        assert 0 < cell["us_per_page_least"] <= low <= cell["us_per_page"] <= high
        assert cell["batches"] == document["passes"] >= 3
        assert cell["pages"] >= cell["batches"]
        assert cell["gigabytes_per_second"] == pytest.approx(cell["page_bytes"] / cell["us_per_page"] / 1000)
    assert document["library_version"].startswith("OpenSSL ")


@needs_aes
def test_aes_is_much_slower_without_its_instructions(document: Any) -> None:
    off, on = (us_per_page(document, "aes-256", "cbc", "decrypt", level) for level in ("off", "on"))
    assert off > 2 * on
    assert document["slowdown_without_instructions"] > 2


@needs_aes
@pytest.mark.parametrize("algorithm", ["hmac-sha1", "hmac-sha256", "hmac-sha512"])
def test_hmac_is_hardly_affected(document: Any, algorithm: str) -> None:
    off, on = (us_per_page(document, algorithm, None, "authenticate", level) for level in ("off", "on"))
    assert off / on < 2.0


@needs_aes
def test_openssl_itself_says_which_bits_it_does_not_see(document: Any) -> None:
    seen = {level: words.split("OPENSSL_ia32cap=")[-1].split()[0] for level, words in document["library_cpu"].items()}
    if "not available" in seen.values():
        pytest.skip("OpenSSL before 3.0 does not say what it sees")
    on, off = ([int(word, 16) for word in seen[level].split(":")[:2]] for level in ("on", "off"))
    assert [word & ~mask for word, mask in zip(on, (0x200000200000000, 0x60000000000), strict=True)] == off
    assert on != off


def test_a_library_that_does_not_exist_is_an_error_with_a_remedy() -> None:
    code, out, err = cipher_cost("--library", "/nowhere/libcrypto.so.3")
    assert (code, has_no_answer(out)) == (2, True)
    message = err.splitlines()[-1]
    assert message.startswith("error: expected OpenSSL's libcrypto at /nowhere/libcrypto.so.3, found: ")
    assert "apt-get install libssl3" in message
    assert "Traceback" not in err


def test_another_library_is_turned_down_by_what_it_lacks() -> None:
    code, _, err = cipher_cost("--library", "libc.so.6")
    assert code == 2
    assert "no OpenSSL libcrypto, it lacks OpenSSL_version" in err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_whatever_ends_the_command_leaves_no_process(number: signal.Signals) -> None:
    process = start("--max-time", "60s")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("measure"):
            break
    assert children_of(process.pid)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert children_left(process.pid) == []
    assert has_no_answer(out)
    if number is signal.SIGINT:
        assert (process.returncode, err.splitlines()[-1]) == (130, "error: interrupted")
        assert "Traceback" not in err


def test_a_larger_ring_and_one_level_are_measured_as_asked() -> None:
    found = measure_cipher_cost([4096], ["aes-128"], ["ctr"], ["on"], seconds=0.1, ring_bytes=1 << 24)
    assert (found.ring_bytes, len(found.cells), found.slowdown_without_instructions) == (1 << 24, 2, None)
