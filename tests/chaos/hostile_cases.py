"""The cases of `hostile`, by areas: what is done to tdelta, and how it has to end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path

import hostile_private
import hostile_servers
from hostile_kit import (
    ANSWERED,
    BRIEF,
    LONG,
    LONGEST_SECONDS,
    SOON_SECONDS,
    Case,
    Here,
    ended,
    files_below,
    many_signals,
    scripts,
)

from support.running import PROGRAM, Ran, read_until, workers_of
from tdelta.evidence import TABLE

PAUSED = tuple("60s" if word == "200s" else word for word in LONG)
COMMANDS = ("repeat:", "raw data:")
"""Lines that are to be copied: they are not broken, however narrow the terminal."""

DISK_SECONDS = 0.1
"""How often disk is looked at."""


# Signals, and what becomes of processes


def _signals() -> Iterator[Case]:
    for stage in ("load: none", "round 1:"):
        many = {
            "SIGINT 40 times": [signal.SIGINT] * 40,
            "HUP, TERM, INT five times": [signal.SIGHUP, signal.SIGTERM, signal.SIGINT] * 5,
            "SIGTERM five times": [signal.SIGTERM] * 5,
            "SIGQUIT": [signal.SIGQUIT],
            "SIGUSR1": [signal.SIGUSR1],
            "SIGINT": [signal.SIGINT],
        }
        for name, numbers in many.items():
            yield Case(f"{name} at {stage}", _after(stage, many_signals, numbers), (130,), "interrupted")
    for seconds in (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 1.0, 2.0):
        yield Case(f"SIGINT after {seconds} s", _early(seconds), (130,))
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        yield Case(f"{number.name} to a worker", _after("round 1:", _strike, number), (1,), "a worker process")
    yield Case("SIGSTOP to a worker", _after("round 1:", _strike, signal.SIGSTOP, PAUSED), (*ANSWERED, 2))
    yield Case("SIGSTOP to a worker, SIGINT", _after("round 1:", _stopped_then_interrupted, None), (130,))


def _after(
    stage: str, act: Callable[[subprocess.Popen[str], object], None], what: object, options: tuple[str, ...] = LONG
) -> Callable[[Here], Ran]:
    def done(here: Here) -> Ran:
        process = here.start("run", *options)
        read_until(process, stage)
        act(process, what)
        return ended(process)

    return done


def _strike(process: subprocess.Popen[str], number: signal.Signals) -> None:
    os.kill(workers_of(process.pid)[0], number)


def _stopped_then_interrupted(process: subprocess.Popen[str], _what: object) -> None:
    _strike(process, signal.SIGSTOP)
    time.sleep(1.0)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.wait(SOON_SECONDS)
    assert time.monotonic() - began < SOON_SECONDS


def _early(seconds: float) -> Callable[[Here], Ran]:
    """SIGINT while Python imports: what `tdelta` is installed as, not a test's program."""

    def done(here: Here) -> Ran:
        process = subprocess.Popen(
            [sys.executable, "-m", "tdelta", "run", *LONG],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=here._environment(),
            cwd=here.base,
        )
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        ran = ended(process)
        return Ran(130, ran.out, ran.err) if ran.code == -signal.SIGINT and not ran.err else ran

    return done


def _chains() -> Iterator[Case]:
    for number, stages in enumerate((("load: none", "round 1:", "round 2:"), ("size", "round 1:"), ("round 2:",))):
        yield Case(f"killed at {', '.join(stages)}, then --resume", _chain(stages, number), ANSWERED)


def _chain(stages: tuple[str, ...], seed: int) -> Callable[[Here], Ran]:
    options = tuple("3..3" if word == "1..1" else word for word in BRIEF)

    def done(here: Here) -> Ran:
        words: tuple[str, ...] = ("run", "--seed", str(seed), *options)
        for stage in stages:
            process = here.start(*words)
            read_until(process, stage)
            process.kill()
            process.communicate()
            if here.store.exists() and here.query("SELECT 1 FROM sqlite_master WHERE name = 'runs'"):
                words = ("run", "--resume", "last") if here.query("SELECT 1 FROM runs") else words
        ran = ended(here.start(*words))
        assert here.query("PRAGMA integrity_check") == [("ok",)]
        return ran

    return done


# Terminals and streams


def _terminals() -> Iterator[Case]:
    yield Case("closed", _terminal(close=True), (130,))
    for name, keys in {"^C": b"\x03", "^C twice": b"\x03\x03", "^\\": b"\x1c"}.items():
        yield Case(name, _terminal(keys=keys), (130,))
    yield Case("^D", _terminal(BRIEF, keys=b"\x04"), ANSWERED)
    for columns in (0, 1, 40):
        yield Case(f"{columns} columns", _terminal(BRIEF, columns=columns), ANSWERED)
    yield Case("NO_COLOR", _terminal(BRIEF, forbidden=rb"\x1b\[[0-9;]*m", NO_COLOR="1"), ANSWERED)
    yield Case("a dumb terminal", _terminal(BRIEF, forbidden=rb"\x1b", TERM="dumb"), ANSWERED)


def _terminal(
    options: tuple[str, ...] = LONG,
    *,
    keys: bytes = b"",
    columns: int = 80,
    close: bool = False,
    forbidden: bytes = b"(?!)",
    **variables: str,
) -> Callable[[Here], Ran]:
    def done(here: Here) -> Ran:
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(here.base)
            os.environ.update(here._environment() | {"TERM": "xterm"} | variables)
            os.execv(sys.executable, [sys.executable, "-c", PROGRAM, "run", *options])  # noqa: S606
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
        shown, code = _shown(pid, terminal, keys, close=close)
        found = re.search(forbidden, shown)
        assert found is None, f"{found} in {shown[-300:]!r}"
        if columns == 40:
            plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
            lines = re.split(r"[\r\n]+", plain)
            wide = [line for line in lines if len(line) > columns and not line.startswith(COMMANDS)]
            assert not wide, f"wider than {columns} columns: {wide[:3]}"
        return Ran(code, "", shown.decode(errors="replace")[-3000:])

    return done


def _shown(pid: int, terminal: int, keys: bytes, *, close: bool) -> tuple[bytes, int]:
    """All that was written, and the exit code; keys are pressed, or the terminal goes, once trials have begun."""
    shown, give_up, has_acted = b"", time.monotonic() + LONGEST_SECONDS, False
    is_open = True
    while time.monotonic() < give_up:
        if is_open and select.select([terminal], [], [], 0.05)[0]:
            try:
                shown += os.read(terminal, 1 << 16)
            except OSError:
                is_open = False
        if not has_acted and b"round 1" in shown:
            has_acted = True
            if close:
                os.close(terminal)
                is_open = False
            elif keys:
                os.write(terminal, keys)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            if not close:
                os.close(terminal)
            return shown, os.waitstatus_to_exitcode(status)
        if not is_open:
            time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"hangs: {shown[-500:]!r}")


def _streams() -> Iterator[Case]:
    made = "tdelta run $BRIEF >/dev/null 2>&1 || test $? -lt 5 && "
    yield from scripts(
        (
            ("tdelta run $BRIEF >&-", (2,), "standard output"),
            ("tdelta run $BRIEF 2>&-", (*ANSWERED, 2), ""),
            ("tdelta run $BRIEF <&-", ANSWERED, ""),
            ("tdelta run $BRIEF <&- >&- 2>&-", (2,), ""),
            ("tdelta run $BRIEF >/dev/full", (2,), "standard output"),
            ("tdelta run $BRIEF 2>/dev/full", (*ANSWERED, 2), ""),
            ("tdelta --help >/dev/full", (2,), "standard output"),
            ("tdelta --help >&-", (2,), "standard output"),
            ("tdelta engines >/dev/full", (2,), "standard output"),
            ("tdelta --version >/dev/full", (2,), "standard output"),
            ("tdelta studies | head -1; exit ${PIPESTATUS[0]}", (0, 2, 141), ""),
            ("tdelta run --help | head -1; exit ${PIPESTATUS[0]}", (0, 2, 141), ""),
            (f"{made} tdelta show --json >/dev/full", (2,), "standard output"),
            (f"{made} tdelta show >&-", (2,), "standard output"),
            (f"{made} tdelta export --format csv >/dev/full", (2,), "standard output"),
            (f"{made} tdelta export --format json >&-", (2,), "standard output"),
            (f"{made} tdelta report --output /dev/full", (2,), "/dev/full"),
        )
    )


# Files, folders, environment, limits


NAMING = (
    *(f"tdelta run --dry-run {option}" for option in ("--dir", "--workload", "--database", "--library")),
    "tdelta run $BRIEF --store",
    *(
        "tdelta run --dry-run --engine mariadb --server-binary",
        "tdelta show --store",
        "tdelta export --format csv --store",
    ),
    *("tdelta analyze", "tdelta verify", "tdelta plan --workload", "tdelta calibrate --dir"),
)
"""Commands that end in the name of a file or folder."""

WITHOUT_RIGHTS = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search"
"""Root, to whom modes of files apply as to others."""


def _on_disk(size: str, command: str) -> str:
    """On a small file system that goes with its name space."""
    return f"unshare -m bash -c 'mkdir d; mount -t tmpfs -o {size} tmpfs d; {command}'"


def _places() -> Iterator[Case]:
    brief = "tdelta run $BRIEF"
    yield from scripts(
        (
            (f"{brief} --dir /proc", (2,), "--dir|/proc"),
            (f"touch f; {brief} --dir f", (2,), "f"),
            (f"{brief} --store /dev/null", (2,), "/dev/null"),
            (f"mkdir s; {brief} --store s", (2,), "s"),
            (f"mkfifo s; {brief} --store s", (2,), "s"),
            (f"ln -s l l; {brief} --store l", (2,), "l"),
            (f"ln -s l l; {brief} --dir l", (2,), "l"),
            *((f"{command} {'x' * 300}", (2,), "x'?[: ]") for command in NAMING),
            *((f"mkdir -m 0 no; {WITHOUT_RIGHTS} {command} no/x", (2,), "no") for command in NAMING),
            (f"{brief} --dir 'a b/ü\"q`\n' --store 'ü \";.sqlite'", ANSWERED, ""),
            (f"{brief} --dir ./relative", ANSWERED, ""),
            (_on_disk("ro", f"{brief} --dir d"), (2,), "d"),
            (_on_disk("ro", f"{brief} --store d/s"), (2,), "d/s"),
            (_on_disk("size=1m", f"{brief} --dir d"), (2,), "d"),
            (_on_disk("size=20k", f"{brief} --store d/s"), (2,), "d/s"),
            (
                _on_disk(
                    "size=300m",
                    "(sleep 3; head -c 290m /dev/zero >d/z 2>/dev/null) &"
                    " tdelta run $LONG --dir d; c=$?; wait; exit $c",
                ),
                (2, *ANSWERED),
                "",
            ),
            (f"env -u HOME -u XDG_DATA_HOME -u XDG_CACHE_HOME {brief} --dir twins --store s", ANSWERED, ""),
            (f"HOME=/nonexistent XDG_DATA_HOME= XDG_CACHE_HOME= {brief} --dir twins --store s", ANSWERED, ""),
            (f"HOME=/proc XDG_DATA_HOME= XDG_CACHE_HOME= {brief}", (2,), "/proc"),
            (f"XDG_DATA_HOME=relative XDG_CACHE_HOME=relative {brief} --dir twins --store s", ANSWERED, ""),
            (f"TMPDIR=/nonexistent {brief}", ANSWERED, ""),
            (f"LC_ALL=C LANG=C PYTHONUTF8=0 {brief}", ANSWERED, ""),
            (f"LC_ALL=xx_YY {brief}", ANSWERED, ""),
            (f"COLUMNS=abc LINES=-1 {brief}", ANSWERED, ""),
            (f"COLUMNS=0 {brief}", ANSWERED, ""),
            (f"COLUMNS=99999999999 {brief}", ANSWERED, ""),
            (f"env -i PATH=$PATH {brief} --dir twins --store s", ANSWERED, ""),
            (f"cd / && {brief} --dir $HOME/twins", ANSWERED, ""),
            (f"mkdir gone; cd gone; rmdir ../gone; {brief}", (*ANSWERED, 2), ""),
            (
                f"for n in 1 2 3; do {brief} & p+=($!); done;"
                " c=0; for j in ${p[@]}; do wait $j || c=$?; done; exit $c",
                ANSWERED,
                "",
            ),
        )
    )


def _limits() -> Iterator[Case]:
    brief = "tdelta run $BRIEF"
    yield from scripts(
        (
            *((f"ulimit -v {kb}; {brief}", (2,), "ulimit -v") for kb in (200_000, 250_000, 300_000)),
            *((f"ulimit -v {kb}; {brief}", (*ANSWERED, 2), "") for kb in (400_000, 700_000, 1_500_000)),
            (f"ulimit -v 1200000; {brief} --threads 400", (2,), "ulimit -v|thread"),
            (f"ulimit -n 8; {brief}", (2,), "ulimit -n|open files"),
            (f"ulimit -n 16; {brief}", (2,), "ulimit -n|open files"),
            (f"ulimit -Sn 16; {brief}", ANSWERED, ""),
            (f"ulimit -f 100; {brief}", (2,), "ulimit -f"),
            (f"ulimit -t 1; {brief}", (2, -9, -24, 137, 152), ""),
            (f"{brief} --threads 100000 --dry-run", (2,), "thread"),
            (f"{brief} --threads 100000", (2,), "thread"),
            (f"ulimit -c 0; ulimit -s 256; {brief}", (*ANSWERED, 2), ""),
        )
    )


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

/* The wall clock alone: shifted, at another speed, or standing. */
static double wrong(double now) {
    static double began = -1;
    if (began < 0) began = now;
    const char *at = getenv("CLOCK_AT"), *speed = getenv("CLOCK_SPEED"), *shift = getenv("CLOCK_SHIFT");
    double passed = (now - began) * (speed ? atof(speed) : 1);
    return (at ? atof(at) : now) - (at ? 0 : now - began) + passed + (shift ? atof(shift) : 0);
}
int clock_gettime(clockid_t which, struct timespec *found) {
    int code = ((int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime"))(which, found);
    if (which == CLOCK_REALTIME) {
        double at = wrong(found->tv_sec + found->tv_nsec / 1e9);
        found->tv_sec = (time_t)at - (at < 0);
        found->tv_nsec = (long)((at - found->tv_sec) * 1e9);
    }
    return code;
}
int gettimeofday(struct timeval *found, void *zone) {
    struct timespec at;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &at);
    found->tv_sec = at.tv_sec, found->tv_usec = at.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *found) {
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    if (found) *found = at.tv_sec;
    return at.tv_sec;
}
"""
"""A library that is preloaded."""


def _clocks() -> Iterator[Case]:
    for name, variables in {
        "ten years ago": {"CLOCK_SHIFT": "-315360000"},
        "three times as fast": {"CLOCK_SPEED": "3"},
        "in 2040": {"CLOCK_AT": "2208988800"},
        "standing": {"CLOCK_SPEED": "0"},
        "running back": {"CLOCK_SPEED": "-1"},
        "in 1960": {"CLOCK_AT": "-315619200"},
    }.items():
        yield Case(f"a wall clock {name}", _with_clock(variables), ANSWERED)


def _with_clock(variables: Mapping[str, str]) -> Callable[[Here], Ran]:
    def done(here: Here) -> Ran:
        (here.base / "clock.c").write_text(CLOCK)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "clock.so", "clock.c", "-ldl"], cwd=here.base, check=True)
        script = "LD_PRELOAD=$PWD/clock.so tdelta run $BRIEF && LD_PRELOAD=$PWD/clock.so tdelta show"
        return here.shell(script, **variables)

    return done


# Inputs


def _stores() -> Iterator[Case]:
    readers = ("show", "show --json", "export --format csv", "export --format json", "report", "run --resume last")
    written = {
        "no database": (b"hello, I am no database at all " * 900, (2,)),
        "an empty file": (b"", (0, 2)),
    }
    edited = {
        "another's tables": (
            "DROP TABLE runs; DROP TABLE trials; CREATE TABLE runs (a); INSERT INTO runs VALUES (1)",
            (2,),
        ),
        "a newer version": ("PRAGMA user_version = 99999", (2,)),
        "a negative version": ("PRAGMA user_version = -1", (2,)),
        "settings that are not JSON": ("UPDATE runs SET settings = substr(settings, 2)", (2,)),
        "settings that are a list": ("UPDATE runs SET settings = '[]'", (2,)),
        "an id with a terminal's escapes": ("UPDATE runs SET run_id = char(27) || '[2J'", (0, 2)),
        "no trials' table": ("DROP TABLE trials", (2,)),
        "no trials": ("DELETE FROM trials", (0, 2)),
        "a histogram cut short": ("UPDATE histograms SET payload = x''", (0, 2)),
        "times that are texts": ("UPDATE trials SET elapsed_ns = 'long'", (0, 2)),
    }
    for reader in readers:
        for name, (content, codes) in written.items():
            yield Case(f"{name}: {reader}", partial(_reading, reader, content, ""), codes, r"\A[^\x1b]*\Z")
        for name, (sql, codes) in edited.items():
            yield Case(f"{name}: {reader}", partial(_reading, reader, None, sql), codes, r"\A[^\x1b]*\Z")


def _reading(reader: str, content: bytes | None, sql: str, here: Here) -> Ran:
    """A command on a store that was written over, or edited.

    A store that was not changed in what a command reads is answered, whatever that answer was.
    """
    store = here.base / "s"
    store.write_bytes(_stored() if content is None else content)
    if sql:
        with contextlib.closing(sqlite3.connect(store)) as database:
            database.executescript(sql)
    ran = here.shell(f"tdelta {reader} --store s")
    is_answered = ran.code in ANSWERED and sql and ran.out
    return Ran(0, "", ran.err) if is_answered else Ran(ran.code, "", ran.err)


@cache
def _stored() -> bytes:
    """A small run's store."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        here = Here.made(Path(folder))
        ran = here.shell("tdelta run $BRIEF --seed 1 --store s")
        assert ran.code in ANSWERED, ran.err
        return (here.base / "s").read_bytes()


POINT = """name = "w"
version = 1
title = "w"
description = "w"
[size]
bytes_per_scale = {size}
[tables.t]
{rows}
[tables.t.columns]
id = {{ distribution = "serial" }}
v = {distribution}
[transactions.a]
title = "a"
weight = {weight}
{more}
"""
SCHEMA = "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, v VARCHAR(200) NOT NULL);\n"
SCRIPT = "\\set id random(1, :rows_t)\nSELECT v FROM t WHERE id = :id;\n"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n;\n"
ORDINARY = '{ distribution = "pattern", template = "##########" }'


def _folder(
    here: Here,
    script: str = SCRIPT,
    *,
    size: str = "1_000_000",
    rows: str = "rows_per_scale = 1000",
    distribution: str = ORDINARY,
    weight: str = "1",
    more: str = "",
) -> Path:
    folder = here.base / "w"
    folder.mkdir()
    (folder / "workload.toml").write_text(
        POINT.format(size=size, rows=rows, distribution=distribution, weight=weight, more=more), encoding="utf-8"
    )
    (folder / "schema.sql").write_text(SCHEMA, encoding="utf-8")
    (folder / "a.sql").write_text(script, encoding="utf-8")
    return folder


def _folders() -> Iterator[Case]:
    on = "tdelta run ${BRIEF% --workload*} --workload w"
    placed = r"workload\.toml|a\.sql|a, line 1|failed during a trial: a: expected it to end"
    yield Case("as it should be", lambda here: (_folder(here), here.shell(on))[1], ANSWERED)
    for file in ("a.sql", "workload.toml", "schema.sql"):
        for name, made in {
            "a link to /dev/zero": "ln -sf /dev/zero",
            "a link to /dev/full": "ln -sf /dev/full",
            "a link to /proc/kmsg": "ln -sf /proc/kmsg",
            "a link to itself": f"ln -sf {file}",
            "a pipe": "rm w/{0}; mkfifo",
            "a folder": "rm w/{0}; mkdir",
            "empty": "truncate -s 0",
            "3 GB of zeros": "truncate -s 3G",
            "zero bytes within": "printf 'a\\0b' >",
        }.items():
            script, said = (
                f"{made.format(file)} w/{file}; {on}",
                placed if name in ("empty", "a link to /proc/kmsg") else file,
            )
            yield Case(
                f"{file}: {name}", lambda here, script=script: (_folder(here), here.shell(script))[1], (2,), said
            )
    deep = "(" * 3000 + "1" + ")" * 3000
    for name, parts in _folder_parts(deep).items():
        act = lambda here, parts=parts: (_folder(here, **parts), here.shell(on))[1]  # noqa: E731
        yield Case(name, act, (2,), placed)
    for columns in (40,):
        yield Case(
            f"faults at {columns} columns",
            lambda here: (_folder(here, weight="-1"), here.shell(f"COLUMNS=40 {on}"))[1],
            (2,),
            placed,
        )


def _folder_parts(deep: str) -> dict[str, dict[str, str]]:
    return {
        "rows = inf": {"rows": "rows_per_scale = inf"},
        "rows = nan": {"rows": "rows_per_scale = nan"},
        "rows = 1e18": {"rows": "rows_per_scale = 1e18"},
        "rows = 2^63 - 1": {"rows": "rows = 9223372036854775807"},
        "rows = -1": {"rows": "rows_per_scale = -1"},
        "bytes_per_scale = 1": {"size": "1"},
        "bytes_per_scale = inf": {"size": "inf"},
        "a text of 2,000,000,000": {"distribution": '{ distribution = "text", min = 1, max = 2000000000 }'},
        "a weight of 1e308": {"weight": "1e308"},
        "a weight of 0": {"weight": "0"},
        "a weight of nan": {"weight": "nan"},
        "TOML nested 3,000 deep": {"more": f"x = {'[' * 3000}{']' * 3000}"},
        "\\set nested 3,000 deep": {"script": f"\\set id {deep}\n{SCRIPT}"},
        "SQL nested 3,000 deep": {"script": f"SELECT {deep} FROM t;\n"},
        "a zero byte": {"script": "SELECT '\0';\n"},
        "a million lines": {"script": SCRIPT * 500_000},
        "100,000 short lines": {"script": "SELECT 1;\n" * 100_000},
        "a statement of 2 MB": {"script": f"SELECT '{'x' * 2_000_000}';\n"},
        "an endless statement": {"script": ENDLESS},
        "an endless \\repeat": {"script": "\\repeat 1000000000000\nSELECT 1;\n\\endrepeat\n"},
        "ATTACH": {"script": "ATTACH 'x.db' AS x;\n"},
        "load_extension": {"script": "SELECT load_extension('x.so');\n"},
        "PRAGMA": {"script": "PRAGMA writable_schema = 1;\n"},
        "DROP": {"script": "DROP TABLE t;\n"},
        "VACUUM": {"script": "VACUUM INTO 'x.db';\n"},
        "a long unknown distribution": {"distribution": '{ distribution = "' + "x" * 5000 + '" }'},
        "escapes of a terminal": {"distribution": '{ distribution = "\\u001b[2Jx" }'},
    }


ROWS = "insert into t select value, 'x' || value from generate_series(1, 3000)"


def _databases() -> Iterator[Case]:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    rows = f"CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t {many} SELECT i, 'x' || i FROM n;"
    endless = "WITH RECURSIVE m(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM m) SELECT count(*) FROM m"
    made = {
        "as it should be": (rows, ANSWERED, ""),
        "one blob of 50 MB": (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB);"
            " INSERT INTO t VALUES (1, zeroblob(50000000)), (2, zeroblob(1000));",
            (*ANSWERED, 2),
            "",
        ),
        "a trigger without an end": (
            f"{rows} CREATE TRIGGER g AFTER UPDATE ON t BEGIN UPDATE t SET v = ({endless}) WHERE id = 1; END;",
            (*ANSWERED, 2),
            "",
        ),
        "a trigger that writes without an end": (
            f"{rows} CREATE TABLE log (v TEXT); CREATE TRIGGER g AFTER UPDATE ON t BEGIN INSERT INTO log"
            " WITH RECURSIVE m(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM m) SELECT hex(zeroblob(1000)) FROM m; END;",
            (*ANSWERED, 2),
            "",
        ),
        "a view without an end": (f"{rows} CREATE VIEW w AS {endless};", ANSWERED, ""),
        "a generated column without an end": (
            f"CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT, g AS (hex(zeroblob(100000000))));"
            f" INSERT INTO t (id, v) {many} SELECT i, 'x' || i FROM n;",
            (*ANSWERED, 2),
            "",
        ),
        "no rows": ("CREATE TABLE t (id INTEGER PRIMARY KEY);", (2,), "rows"),
        "no tables": ("CREATE TABLE t (a); DROP TABLE t;", (2,), ""),
        "1,500 tables": (
            "".join(
                f"CREATE TABLE t{n} (id INTEGER PRIMARY KEY, v);INSERT INTO t{n} VALUES (1, 2);" for n in range(1500)
            ),
            (*ANSWERED, 2),
            "",
        ),
        "names with quotes and line ends": (
            'CREATE TABLE "a""b\n`\'; DROP" (id INTEGER PRIMARY KEY, "c\n""" TEXT);'
            "INSERT INTO \"a\"\"b\n`'; DROP\" VALUES (1, 'x'), (2, 'y');",
            (*ANSWERED, 2),
            "",
        ),
        "escapes of a terminal in a name": (
            'CREATE TABLE "\x1b[2Jt" (id INTEGER PRIMARY KEY, v TEXT);INSERT INTO "\x1b[2Jt" VALUES (1, 2);',
            (*ANSWERED, 2),
            r"\A[^\x1b]*\Z",
        ),
        "tdelta's own names": (f"{rows} CREATE TABLE {TABLE} (a);", (2,), TABLE),
    }
    for name, (sql, codes, said) in made.items():
        yield Case(name, _on_database(sql), codes, said)
    for script, said in (
        ("ln -s /dev/zero app.db", "app.db"),
        ("mkfifo app.db", "app.db"),
        ("mkdir app.db", "app.db"),
        ("touch app.db", "app.db"),
        ("head -c 100000 /dev/urandom >app.db", "app.db"),
        ("truncate -s 3T app.db", "app.db"),
        ("true", "app.db"),
    ):
        command = f"{script}; o=${{BRIEF% --workload*}}; tdelta run ${{o#--size 2MB}} --database app.db"
        yield Case(f"{script} as --database", lambda here, command=command: here.shell(command), (2,), said)


def _on_database(sql: str) -> Callable[[Here], Ran]:
    """A run on a file, which stays as it is, within the disk that it may take, and its time."""

    def done(here: Here) -> Ran:
        file = here.base / "app.db"
        with contextlib.closing(sqlite3.connect(file)) as database:
            database.executescript(sql)
        os.utime(file, (1, 1))
        before = file.read_bytes(), file.stat().st_mtime_ns
        options = [word for word in BRIEF if word not in ("--workload", "point-select", "--size", "2MB")]
        options[options.index("200s")] = "60s"
        process = here.start("run", *options, "--database", "app.db")
        most = 0
        began = time.monotonic()
        while process.poll() is None and time.monotonic() < began + LONGEST_SECONDS:
            most = max(most, _bytes_below(here.base / "cache"))
            time.sleep(DISK_SECONDS)
        ran = ended(process)
        assert (file.read_bytes(), file.stat().st_mtime_ns) == before, "the original has changed"
        allowed = 12 * len(before[0]) + 6 * (64 << 20)
        assert most < allowed, f"{most >> 20} MiB of disk, of a file of {len(before[0]) >> 20} MiB"
        return ran

    return done


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in files_below(folder):
        with contextlib.suppress(OSError):
            total += path.stat().st_blocks * 512
    return total


def _results() -> Iterator[Case]:
    analyze = "tdelta analyze"
    ordinary = "seq 100 | awk '{print $1/100+1}'"
    yield from scripts(
        (
            (
                "printf 'tps\\n' >a.csv; seq 50 60 >>a.csv; printf 'tps\\n' >b.csv; seq 51 61 >>b.csv;"
                f" {analyze} plain=a.csv tde=b.csv",
                (*ANSWERED, 2),
                "",
            ),
            *(
                (f"{made} a.csv; {ordinary} >b.csv; {analyze} a.csv b.csv", (2,), "a.csv")
                for made in (
                    "mkfifo",
                    "mkdir",
                    "ln -s /dev/zero",
                    "ln -s /proc/kmsg",
                    "ln -s a.csv",
                    "touch",
                    "truncate -s 3G",
                    "head -c 100000 /dev/urandom >",
                    "printf '\\0\\0' >",
                    "printf 'a,b\\n1' >",
                )
            ),
            (f"{analyze} nothing.csv", (2,), "nothing.csv"),
            (f"{analyze} published:no-such-table", (2,), "unknown"),
            (f"head -c 100000 /dev/zero | gzip >a.csv.gz; {analyze} a.csv.gz", (2,), "a.csv.gz"),
            (f"head -c 3G /dev/zero | gzip -1 >a.csv.gz; {analyze} a.csv.gz", (2,), "a.csv.gz"),
            (f"printf 'condition,tps\\nplain,inf\\ntde,nan\\n' >a.csv; {analyze} a.csv", (2,), "a.csv"),
            (f"printf 'condition,tps\\nplain,-1\\ntde,0\\n' >a.csv; {analyze} a.csv", (2,), "a.csv"),
            (
                f"printf 'condition,tps\\n\\033[2J,1\\ntde,2\\n' >a.csv; {analyze} a.csv",
                (2, *ANSWERED),
                r"\A[^\x1b]*\Z",
            ),
            (
                'awk \'BEGIN{print "condition,response_time_ms"; srand(1); for (i = 0; i < 10000000; i++)'
                f' print (i % 2 ? "plain" : "tde") "," 1 + rand()}}\' >a.csv; {analyze} a.csv',
                (2, *ANSWERED),
                "",
            ),
        )
    )


NAMES = (
    "<script>document.title = 'taken'</script>",
    "<img src=x onerror=\"document.title = 'taken'\">",
    "<svg onload=\"document.title = 'taken'\"></svg>",
    "</title></style></script><script>document.title = 'taken'</script>",
    "<a href=\"javascript:document.title = 'taken'\" autofocus onfocus=\"document.title = 'taken'\">x</a>",
)


def _pages() -> Iterator[Case]:
    if shutil.which("chromium") is None:
        return
    for name in NAMES:
        yield Case(f"a condition called {name}", partial(_page, name), ANSWERED)


def _page(name: str, here: Here) -> Ran:
    """The page of results whose conditions have such a name, in a browser that does run the scripts of a page."""
    results, page, control = (here.base / file for file in ("a.csv", "page.html", "control.html"))
    quoted = name.replace('"', '""')
    rows = "".join(f'"{quoted}",{10 + n % 3}\nplain,{10 + n % 4}\n' for n in range(20))
    results.write_text(f"condition,response_time_ms\n{rows}", encoding="utf-8")
    ran = here.shell("tdelta analyze --baseline plain --output page.html a.csv")
    control.write_text("<title>x</title><script>document.title = 'taken'</script>", encoding="utf-8")
    assert "<title>taken" in _in_browser(here, control), "the browser runs no scripts: this case saw nothing"
    shown = _in_browser(here, page)
    assert "tdelta" in shown, f"no page: {shown[:300]!r}"
    assert "<title>taken" not in shown, "a name was run as a script"
    return ran


def _in_browser(here: Here, page: Path) -> str:
    profile = here.base / "profile"
    command = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom")
    environment = here._environment()
    done = subprocess.run(
        [*command, f"file://{page}"], capture_output=True, timeout=LONGEST_SECONDS, check=False, env=environment
    )
    shutil.rmtree(here.temporary)
    here.temporary.mkdir()
    return done.stdout.decode(errors="replace")


# Servers of users


def _dsns() -> Iterator[Case]:
    others = {"postgres": "postgres://u@127.0.0.1:2/d"}
    for dsn, said in {
        "mysql://u:secret@127.0.0.1:1": "password",
        "mysql://u:@127.0.0.1:1": "password",
        "mysql://u@127.0.0.1:1/?password=secret": "password",
        "mysql://u@127.0.0.1:1/?Password=secret": "",
        "postgres://u:se%63ret@127.0.0.1:1/d": "password",
        "oracle://u@127.0.0.1": "",
        "mysql:/u@127.0.0.1": "",
        "mysql://": "",
        "": "",
        "mysql://u@": "",
        "mysql://@127.0.0.1:1": "",
        "mysql://u@127.0.0.1:0": "",
        "mysql://u@127.0.0.1:65536": "",
        "mysql://u@127.0.0.1:-1": "",
        "mysql://u@127.0.0.1:x": "",
        "mysql://u@[::1": "",
        "mysql://u@[::1]:1": "",
        "mysql://u@127.0.0.1:1/?tls=maybe": "tls",
        "mysql://u@127.0.0.1:1/?tls-ca=/nonexistent&tls=verify-ca": "",
        "mysql://u@127.0.0.1:1/?colour=red": "colour",
        "mysql://u@127.0.0.1:1/?socket=/nonexistent&socket=/other": "",
        "mysql://u@/?socket=/nonexistent": "/nonexistent",
        "mysql://u@/?socket=/dev/zero": "/dev/zero",
        "mysql://u@127.0.0.1:1/?password-env=NOT_THERE": "NOT_THERE",
        "mysql://u@127.0.0.1:1/?password-file=/nonexistent": "/nonexistent",
        "mysql://u@127.0.0.1:1/?password-file=/etc/passwd": "/etc/passwd",
        "mysql://u@127.0.0.1:1/?password-file=/dev/zero": "/dev/zero",
        "mysql://u@no-such-host.invalid": "no-such-host",
        f"mysql://{'u' * 100_000}@127.0.0.1:1": "",
        "mysql://u%00@127.0.0.1:1": "",
        "mysql://u%1b%5b2J@127.0.0.1:1": r"\A[^\x1b]*\Z",
        "postgres://u@127.0.0.1:1/d%22%3b DROP": "",
    }.items():
        pair = ("--baseline", dsn, "--encrypted", others.get(dsn.partition(":")[0], "mysql://u@127.0.0.1:2"))
        act = _without_secret(lambda here, pair=pair: ended(here.start("run", *BRIEF, *pair)))
        yield Case(f"--baseline {dsn[:100]!r}", act, (2,), said)
    one = "mysql://u@127.0.0.1:1"
    yield from scripts(
        (
            (f"tdelta run $BRIEF --baseline {one}", (2,), "--encrypted"),
            (f"tdelta run $BRIEF --encrypted {one}", (2,), "--baseline"),
            (f"tdelta run $BRIEF --baseline {one} --encrypted postgres://u@127.0.0.1:1/d", (2,), ""),
            (f"tdelta run $BRIEF --baseline {one} --encrypted {one}", (2,), ""),
            (f"tdelta run $BRIEF --baseline {one} --encrypted {one} --engine sqlite", (2,), ""),
            (
                f"tdelta run $BRIEF --baseline {one} --encrypted mysql://u@127.0.0.1:2 --schema 'x`; DROP'",
                (2,),
                "schema",
            ),
        )
    )


def _without_secret(act: Callable[[Here], Ran]) -> Callable[[Here], Ran]:
    def done(here: Here) -> Ran:
        ran = act(here)
        assert "secret" not in ran.err + ran.out, f"a password is shown: {ran.err[-500:]!r}"
        assert "se%63ret" not in ran.err + ran.out, f"a password is shown: {ran.err[-500:]!r}"
        return ran

    return done


AREAS: dict[str, Callable[[], Iterable[Case]]] = {
    "signals": _signals,
    "chains": _chains,
    "terminals": _terminals,
    "streams": _streams,
    "places": _places,
    "limits": _limits,
    "clocks": _clocks,
    "stores": _stores,
    "folders": _folders,
    "databases": _databases,
    "results": _results,
    "pages": _pages,
    "dsns": _dsns,
    "servers": hostile_servers.cases,
    "private": hostile_private.cases,
}
"""The areas, and what makes their cases."""
