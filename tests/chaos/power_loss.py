"""Power loss of the store: at every sync, whatever the disk may hold then opens, with every trial that was promised.

From the root of the repository::

    python tests/chaos/power_loss.py --tries 5000

A child makes runs and adds trials, and notes how many are promised after each `Store.add_trial`. A library that it
preloads copies the store's files ahead of every ``fsync`` and ``fdatasync``. A disk without power then holds what was
synced before, and of all that was written since any part of its sectors; a journal whose folder was not synced since it
was made may be missing. Such disks are drawn, each is opened, and what is read is compared with what was added.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from counting import MOST_FAILURES, Tally, asked

from support.flat import measurement_of
from tdelta.design import lay_out
from tdelta.records import Metric, RunSettings, Trial
from tdelta.store import RunStatus, Store

STORE, JOURNAL, PROMISED = FILES = ("runs.sqlite", "runs.sqlite-journal", "promised")
RUN = "20260802-kqmt"
TRIALS = 24
SECTOR_BYTES = 512
CONDITIONS = lay_out({"cipher": ("aes-256",)})

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const files[] = {"runs.sqlite", "runs.sqlite-journal", "promised"};
static int syncs;

static void copy(const char *from, const char *to) {
    char part[65536];
    ssize_t count;
    int in = open(from, O_RDONLY), out;
    if (in < 0) return;
    out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while ((count = read(in, part, sizeof part)) > 0)
        if (write(out, part, count) != count) abort();
    close(in);
    close(out);
}

static void witness(int fd) {
    const char *folder = getenv("POWER_LOSS_FOLDER"), *copies = getenv("POWER_LOSS_COPIES");
    char link[64], path[4096], from[4096], to[4096];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = 0;
    if (strncmp(path, folder, strlen(folder))) return;
    for (int n = 0; n < 3; n++) {
        snprintf(from, sizeof from, "%s/%s", folder, files[n]);
        snprintf(to, sizeof to, "%s/%05d.%s", copies, syncs, files[n]);
        copy(from, to);
    }
    snprintf(to, sizeof to, "%s/%05d.synced", copies, syncs++);
    int out = open(to, O_WRONLY | O_CREAT, 0600);
    const char *name = path + strlen(folder);
    if (write(out, name, strlen(name)) < 0) abort();
    close(out);
}

int fsync(int fd) {
    witness(fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}

int fdatasync(int fd) {
    witness(fd);
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
"""

Disk = dict[str, bytes]


@dataclass(frozen=True)
class Moment:
    """Just ahead of a sync: what is certainly on the disk, what was written, and how many trials are promised."""

    synced: Disk
    written: Disk
    promised: int
    is_linked: bool
    """Whether the journal's entry in the folder is synced."""


class Lost(Exception):
    """A trial, or the store."""


def main(arguments: Sequence[str]) -> int:
    """Record, draw disks, open, count."""
    if arguments[:1] == ["--write"]:
        write(Path(arguments[1]))
        return 0
    ask = asked(__doc__ or "", 5_000, arguments)
    tally = Tally()
    with tempfile.TemporaryDirectory() as place:
        moments = recorded(Path(place))
        if not moments:
            print("expected syncs, found none: is SQLite linked against the C library's fsync?")
            return 1
        disk = Path(place) / "disk"
        disk.mkdir()
        for number in ask.numbers:
            draw = random.Random(f"{ask.seed}/{number}")
            moment = moments[number % len(moments)]
            for name in FILES[:2]:
                (disk / name).unlink(missing_ok=True)
            for name, content in left(draw, moment).items():
                (disk / name).write_bytes(content)
            try:
                tally.outcomes[read(disk / STORE, moment.promised)] += 1
            except BaseException as error:
                last = "".join(traceback.format_exception(error)[-2:])
                tally.failures.append(f"try {number}, {moment.promised} promised: {last}")
            if len(tally.failures) >= MOST_FAILURES:
                break
        tally.left_over = len([path for path in disk.iterdir() if path.name not in FILES])
        print(f"{len(moments)} syncs, {TRIALS} trials")
    return tally.report("disks without power")


def write(folder: Path) -> None:
    """Make a run, add trials, and note each promise."""
    note = os.open(folder / PROMISED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with Store.open(folder / STORE) as store:
        store.create_run(settings(), {}, {})
        os.write(note, b"r")
        store.set_status(RUN, RunStatus.RUNNING)
        for trial in trials():
            store.add_trial(RUN, trial)
            os.write(note, b"t")


def recorded(place: Path) -> list[Moment]:
    """The moments of such a child."""
    library, folder, copies = place / "witness.so", place / "store", place / "copies"
    (place / "witness.c").write_text(LIBRARY, encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, place / "witness.c", "-ldl"], check=True)
    folder.mkdir()
    copies.mkdir()
    witness = {"LD_PRELOAD": str(library), "POWER_LOSS_FOLDER": str(folder), "POWER_LOSS_COPIES": str(copies)}
    command = [sys.executable, str(Path(__file__).absolute()), "--write", str(folder)]
    subprocess.run(command, env=os.environ | witness, check=True)
    found: list[Moment] = []
    synced: Disk = {}
    is_linked = False
    for mark in sorted(copies.glob("*.synced")):
        written = {
            name: path.read_bytes() for name in FILES if (path := mark.with_name(f"{mark.stem}.{name}")).exists()
        }
        promised = written.pop(PROMISED, b"").count(b"t") if PROMISED in written else 0
        found.append(Moment(dict(synced), written, promised, is_linked))
        name = mark.read_text(encoding="utf-8").lstrip("/")
        if name in written:
            synced[name] = written[name]
        elif not name:
            is_linked = JOURNAL in written
    return found


def left(draw: random.Random, moment: Moment) -> Disk:
    """Possible contents of a disk: of each file the sectors that were synced, those written since, or any of both."""
    kind = draw.choice(("synced", "written", "mixed", "mixed", "mixed"))
    disk = {}
    for name, written in moment.written.items():
        synced = moment.synced.get(name, b"")
        if kind != "mixed":
            disk[name] = synced if kind == "synced" else written
            continue
        size = draw.choice((len(synced), len(written)))
        share = draw.random()
        parts = []
        for at in range(0, size, SECTOR_BYTES):
            old, new = synced[at : at + SECTOR_BYTES], written[at : at + SECTOR_BYTES]
            part = (new if draw.random() < share else old) or old or new
            parts.append(part.ljust(min(SECTOR_BYTES, size - at), b"\0")[: size - at])
        disk[name] = b"".join(parts)
    if not moment.is_linked and draw.random() < 0.5:
        disk.pop(JOURNAL, None)
    return disk


def read(store: Path, promised: int) -> str:
    """Open what is left and compare it; returns what was found."""
    with Store.open(store) as opened:
        if not opened.runs():
            if promised:
                raise Lost("the run")
            return "no run yet"
        found = opened.trials(RUN)
        opened.set_status(RUN, RunStatus.INTERRUPTED)
    added = trials()
    if list(found) != added[: len(found)] or len(found) < promised:
        raise Lost(f"{promised} trials were promised, {len(found)} found")
    return "all that was promised" if len(found) == promised else "one that was not promised yet, too"


def settings() -> RunSettings:
    """Of the run."""
    return RunSettings(
        RUN,
        1,
        "default",
        "sqlite",
        "order-entry",
        CONDITIONS,
        0.02,
        None,
        Metric.RESPONSE_TIME,
        {"trial_seconds": 0.25},
    )


def trials() -> list[Trial]:
    """Of the run: of more bytes from one to the next, so that some take many pages."""
    draw = random.Random(1)
    added = []
    for number in range(TRIALS):
        block, position = divmod(number, len(CONDITIONS))
        histograms = {"tx:a": draw.randbytes(number * 700)}
        measured = measurement_of(
            operations=500, elapsed_ns=number, transactions={}, statements={}, histograms=histograms
        )
        added.append(Trial(0, block, position, CONDITIONS[position], "0a1b2c3d", 1_785_000_000.25, measured))
    return added


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
