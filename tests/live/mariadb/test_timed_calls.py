"""Time that is injected in every call of MariaDB's cipher is in what its calls take, and no more than that."""

import shutil
import subprocess
from pathlib import Path

import pytest

from support.running import require
from support.runs import ServerPlace
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.processes.openssl_calls import environment, read
from tdelta.records import TimedCalls

from .test_observation import engine, filled

__all__ = ["engine"]

INJECTED_US = 40.0
BURNS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}
int EVP_CipherUpdate(void *context, void *into, int *written, const void *from, int length) {
    static int (*next)(void *, void *, int *, const void *, int);
    if (!next) next = dlsym(RTLD_NEXT, "EVP_CipherUpdate");
    int answer = next(context, into, written, from, length);
    for (double until = now() + INJECTED_US; now() < until;);
    return answer;
}
"""


@pytest.fixture(scope="module")
def burning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A preload behind which every update of a cipher takes so much longer."""
    compiler = shutil.which("cc")
    if compiler is None:
        require(None, "there is no C compiler here")
    folder = tmp_path_factory.mktemp("burning")
    source, library = folder / "burns.c", folder / "burns.so"
    source.write_text(BURNS.replace("INJECTED_US", str(INJECTED_US)))
    subprocess.run([str(compiler), "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


def page_calls(engine: MariaDb, folder: Path, behind: str = "") -> tuple[TimedCalls, int]:
    """Times of MariaDB's calls for pages while it read a table from the disk, and the number of pages."""
    folder.mkdir()
    counts = folder / "calls"
    with filled(engine, folder / "server", "data", environment(counts, {"LD_PRELOAD": behind})) as working:
        before = read(counts)
        working.work()
        calls = read(counts).since(before)
    (found,) = [one for one in calls if (one.name, one.direction) == ("AES-128-CBC", "decrypt")]
    return found, working.pages


@pytest.mark.alone  # what calls take by the clock is compared with what was injected
def test_injected_time_is_in_the_calls(engine: MariaDb, burning: Path, tmp_path: Path) -> None:
    plain, pages = page_calls(engine, tmp_path / "plain")
    assert pages > 100
    assert plain.starts >= pages
    assert plain.bytes == pytest.approx(16_384 * plain.starts, rel=0.02)
    assert 0.5 < plain.us / plain.starts < INJECTED_US  # AES takes some µs for a page
    injected, _ = page_calls(engine, tmp_path / "injected", str(burning))
    more_us = injected.us / injected.starts - plain.us / plain.starts
    assert more_us == pytest.approx(INJECTED_US, rel=0.25)


def test_the_cost_breakdown_of_a_run_has_the_calls_that_were_timed(place: ServerPlace) -> None:
    scan = ("--workload", "scan", "--cold", "--scope", "data", "--size", "20MB", "--no-aa", "--no-bb")
    document = place.measured(*scan, "--rounds", "1..1", "--blocks", "3", "--max-time", "4m")
    (breakdown,) = document["cost_breakdown"]
    cipher = next(line for line in breakdown["components"] if line["kind"] == "cipher")
    assert cipher["is_timed"], breakdown["unattributed"]
    first = cipher["items"][0]
    assert first["what"] == "AES-128-CBC decryptions"
    assert first["count"] > 100
    assert 0.5 < first["unit_cost_us"] < 100
    assert cipher["amount"]["hdi95"][0] <= cipher["amount"]["us"] <= cipher["amount"]["hdi95"][1]
