"""A disk that fills up, or fails, at any call: a clear error, nothing half-written, and no promised trial lost.

From the root of the repository::

    python tests/chaos/disk_faults.py --tries 2000

A preloaded library counts writes, syncs and renames below the campaign's folder, and from the n-th on answers ENOSPC or
EIO, for good or once. Trials are added to a store, a page and exports are written over older ones, and whole runs are
made, embedded and on private servers, with the fault in tdelta itself or in each of the processes that it starts.
Servers have the library, too, but it is armed in Python's processes alone: what a server does on a bad disk is its own
business.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "live"))

from counting import MOST_FAILURES, Tally, asked
from power_loss import RUN as STORED_RUN
from power_loss import settings, trials
from store import RUN, call

from support.running import private_servers
from support.runs import processes_at
from tdelta.engines.server.installed import find_servers
from tdelta.errors import EngineUnavailable, StorageFault, StoreError
from tdelta.processes.mounts import mounts_below
from tdelta.records import Trial
from tdelta.store import Store

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITES, SYNCS, RENAMES };
static int kind = -1, code, stays;
static long nth, seen;
static const char *folder = "";

void disk_fault(int which, long at, int answer, int for_good) {
    kind = which, nth = at, code = answer, stays = for_good;
    folder = getenv("DISK_FAULT_FOLDER");
    __atomic_store_n(&seen, 0, __ATOMIC_SEQ_CST);
}

long disk_calls(void) { return __atomic_load_n(&seen, __ATOMIC_SEQ_CST); }

static int is_ours(void) {
    const char *program = getenv("DISK_FAULT_PROGRAM");
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0 || !program) return 0;
    path[length] = 0;
    return !strcmp(path, program);
}

__attribute__((constructor)) static void from_environment(void) {
    const char *told = getenv("DISK_FAULT");
    int which, answer, for_good;
    long at;
    if (told && is_ours() && sscanf(told, "%d %ld %d %d", &which, &at, &answer, &for_good) == 4)
        disk_fault(which, at, answer, for_good);
}

static int fails(int which, const char *path) {
    if (which != kind || strncmp(path, folder, strlen(folder))) return 0;
    long number = __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (!nth || number < nth || (number > nth && !stays)) return 0;
    errno = code;
    return 1;
}

static int fails_at(int which, int fd) {
    char link[64], path[4096];
    ssize_t length;
    if (which != kind) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(which, path);
}

#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *from, size_t size) {
    return fails_at(WRITES, fd) ? -1 : REAL(ssize_t, write, int, const void *, size_t)(fd, from, size);
}
ssize_t pwrite(int fd, const void *from, size_t size, off_t at) {
    return fails_at(WRITES, fd) ? -1 : REAL(ssize_t, pwrite, int, const void *, size_t, off_t)(fd, from, size, at);
}
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at) {
    return fails_at(WRITES, fd) ? -1 : REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)(fd, from, size, at);
}
int fsync(int fd) { return fails_at(SYNCS, fd) ? -1 : REAL(int, fsync, int)(fd); }
int fdatasync(int fd) { return fails_at(SYNCS, fd) ? -1 : REAL(int, fdatasync, int)(fd); }
int rename(const char *from, const char *to) {
    return fails(RENAMES, to) ? -1 : REAL(int, rename, const char *, const char *)(from, to);
}
"""

WRITES, SYNCS, RENAMES = range(3)
WORKERS_CALLS = {WRITES: 3_000, SYNCS: 60, RENAMES: 1}
SUPERVISORS_CALLS = {WRITES: 30, SYNCS: 4, RENAMES: 2}
RUN_SHARE, SERVER_RUN_SHARE = 0.03, 0.01
PATIENCE_SECONDS = 5.0
"""How long what is on its way to its end may take after a run."""
SHORT = ("--no-aa", "--dir", "twins")


class Invalid(Exception):
    """Ends that no disk may lead to."""


@dataclass(frozen=True)
class Fault:
    """The disk's answer, and from which call on."""

    kind: int
    nth: int
    code: int
    stays: bool

    def __str__(self) -> str:
        """For a report, and for `DISK_FAULT`."""
        return f"{self.kind} {self.nth} {self.code} {int(self.stays)}"


class Disk:
    """The preloaded library, in this process."""

    def __init__(self) -> None:
        library = ctypes.CDLL(os.environ["LD_PRELOAD"])
        self._arm, self._calls = library.disk_fault, library.disk_calls
        self._arm.argtypes = [ctypes.c_int, ctypes.c_long, ctypes.c_int, ctypes.c_int]
        self._calls.restype = ctypes.c_long

    def count(self, kind: int, act: Callable[[], object]) -> int:
        """How many calls an action makes."""
        self.arm(Fault(kind, 0, 0, stays=False))
        try:
            act()
        finally:
            calls = int(self._calls())
            self.disarm()
        return calls

    def arm(self, fault: Fault) -> None:
        """From now on."""
        self._arm(fault.kind, fault.nth, fault.code, int(fault.stays))

    def disarm(self) -> None:
        """The disk is whole again."""
        self._arm(-1, 0, 0, 0)


def main() -> int:
    """Start again with the library preloaded, in a new folder."""
    if "DISK_FAULT_FOLDER" in os.environ:
        return campaign(Path(os.environ["DISK_FAULT_FOLDER"]))
    with tempfile.TemporaryDirectory() as place:
        source, library, folder = Path(place) / "fault.c", Path(place) / "fault.so", Path(place) / "disk"
        source.write_text(LIBRARY, encoding="ascii")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        folder.mkdir()
        places = {name: str(folder) for name in ("DISK_FAULT_FOLDER", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
        command = [sys.executable, str(Path(__file__).absolute()), *sys.argv[1:]]
        own = {"LD_PRELOAD": str(library), "DISK_FAULT_PROGRAM": str(Path("/proc/self/exe").readlink())}
        return subprocess.run(command, env=os.environ | places | own, check=False).returncode


def campaign(folder: Path) -> int:
    """Fault, act, look, count."""
    ask = asked(__doc__ or "", 2_000)
    tally, disk = Tally(), Disk()
    os.chdir(folder)
    code, _, said = call((*RUN, "--store", "good.sqlite"))
    if code not in (0, 3, 4):
        print(said)
        return 1
    with Store.open(Path("trials.good")) as store:
        store.create_run(settings(), {}, {})
    servers = [engine for engine in private_servers() if _is_here(engine)]
    there = listed()
    for number in ask.numbers:
        draw = random.Random(f"{ask.seed}/{number}")
        drawn = draw.random()
        if drawn < RUN_SHARE:
            act = _run
        elif servers and drawn < RUN_SHARE + SERVER_RUN_SHARE:
            act = functools.partial(_server_run, servers[number % len(servers)])
        else:
            act = draw.choice((_add, _add, _page, _export))
        try:
            tally.outcomes[act(draw, disk)] += 1
        except BaseException as error:
            tally.failures.append(f"try {number}: {''.join(traceback.format_exception(error)[-2:])[:1_500]}")
        finally:
            disk.disarm()
        for path in ("now", "twins"):
            shutil.rmtree(path, ignore_errors=True)
        if len(tally.failures) >= MOST_FAILURES:
            break
    tally.left_over = len(listed() - there)
    return tally.report("disks that fill up or fail")


def listed() -> set[str]:
    """All files but those of caches."""
    return {str(path) for path in Path().rglob("*") if path.is_file() and "tdelta" not in path.parts}


def _fault(draw: random.Random, calls: dict[int, int]) -> Fault:
    kind = draw.choice([kind for kind, count in calls.items() if count])
    code = draw.choice((errno.ENOSPC, errno.EIO))
    return Fault(kind, draw.randrange(1, calls[kind] + 1), code, draw.random() < 0.7)


def _counted(disk: Disk, act: Callable[[], object]) -> dict[int, int]:
    return {kind: disk.count(kind, act) for kind in (WRITES, SYNCS, RENAMES)}


def _add(draw: random.Random, disk: Disk) -> str:
    """Trials to a store, until the disk says no."""
    Path("now").mkdir()
    path, added = Path("now/trials.sqlite"), trials()[: draw.randrange(1, 12)]
    shutil.copy("trials.good", path)
    promised = 0
    disk.arm(_fault(draw, {WRITES: 15 * len(added), SYNCS: 5 * len(added)}))
    try:
        with Store.open(path) as store:
            for trial in added:
                store.add_trial(STORED_RUN, trial)
                promised += 1
    except (StorageFault, StoreError) as error:
        _require_clear(2, str(error))
    disk.disarm()
    with Store.open(path) as store:
        found = list(store.trials(STORED_RUN))
        if found != added[: len(found)] or len(found) < promised:
            raise Invalid(f"{promised} trials were promised, {len(found)} found")
        for trial in added[len(found) :]:
            store.add_trial(STORED_RUN, trial)
    return "store: all stored" if promised == len(added) else "store: refused"


def _page(draw: random.Random, disk: Disk) -> str:
    return _written(draw, disk, "page", ("report", "last", "--output", "now/file"))


def _export(draw: random.Random, disk: Disk) -> str:
    form = draw.choice(("csv", "json"))
    return _written(draw, disk, "export", ("export", "last", "--format", form, "--output", "now/file"))


def _written(draw: random.Random, disk: Disk, name: str, command: tuple[str, ...]) -> str:
    """A file over an older one: it is the older one, or the whole new one."""
    Path("now").mkdir()
    shutil.copy("good.sqlite", "now/runs.sqlite")
    whole, file = (*command, "--store", "now/runs.sqlite"), Path("now/file")
    calls = _counted(disk, lambda: call(whole))
    expected, older = file.read_bytes(), file.read_bytes()[:-7] + b" older\n"
    file.write_bytes(older)
    disk.arm(_fault(draw, calls))
    code, _, said = call(whole)
    disk.disarm()
    if code:
        _require_clear(code, said)
    if file.read_bytes() != (older if code else expected):
        raise Invalid(f"{name}: exit {code}, and the file is neither the older one nor whole: {said[:300]!r}")
    if len(left := sorted(path.name for path in Path("now").iterdir())) > 3:
        raise Invalid(f"{name}: left {left}")
    return f"{name}: refused" if code else f"{name}: written"


def _run(draw: random.Random, disk: Disk) -> str:
    """A whole run, with the fault in tdelta itself or in its workers."""
    return f"run: {_conducted(draw, disk, RUN, WORKERS_CALLS)}"


def _server_run(engine: str, draw: random.Random, disk: Disk) -> str:
    """The same on private servers, whose own disk is whole."""
    return f"{engine}: {_conducted(draw, disk, (*RUN, '--engine', engine), SUPERVISORS_CALLS)}"


def _conducted(draw: random.Random, disk: Disk, run: tuple[str, ...], below: dict[int, int]) -> str:
    Path("now").mkdir()
    there = set(Path().iterdir())
    promised: list[Trial] = []
    add = Store.add_trial

    def add_trial(store: Store, run_id: str, trial: Trial) -> None:
        add(store, run_id, trial)
        promised.append(trial)

    if draw.random() < 0.5:
        disk.arm(_fault(draw, {WRITES: 200, SYNCS: 60}))
    else:
        os.environ["DISK_FAULT"] = str(_fault(draw, below))
    try:
        with mock.patch.object(Store, "add_trial", add_trial):
            code, _, said = call((*run, *SHORT, "--store", "now/runs.sqlite"))
    finally:
        disk.disarm()
        os.environ.pop("DISK_FAULT", None)
    if code not in (0, 3, 4):
        _require_clear(code, said)
    _require_nothing_left(there)
    if promised:
        with Store.open(Path("now/runs.sqlite")) as store:
            found = store.trials(store.runs()[0].run_id)
        if lost := sum(trial not in found for trial in promised):
            raise Invalid(f"{lost} of {len(promised)} promised trials are lost")
    return f"exit {code}"


def _require_nothing_left(there: set[Path]) -> None:
    """No file of twins, no folder for sockets, no process and no mount."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        folder = Path.cwd()
        left = [
            *map(str, Path("twins").rglob("*")),
            *map(str, set(Path().iterdir()) - there - {Path("twins"), Path("tdelta")}),
            *(words for pid, words in processes_at(folder) if pid != os.getpid()),
            *map(str, mounts_below(folder)),
        ]
        if not left:
            return
        if time.monotonic() > give_up:
            raise Invalid(f"left {left[:5]}")
        time.sleep(0.05)


def _is_here(engine: str) -> bool:
    try:
        return bool(find_servers(engine))
    except EngineUnavailable:
        return False


def _require_clear(code: int, said: str) -> None:
    if code != 2 or not said.strip() or len(said) > 4_000 or "defect" in said or "Traceback" in said:
        raise Invalid(f"exit {code}: {said[:700]!r}")


if __name__ == "__main__":
    sys.exit(main())
