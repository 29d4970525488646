"""A ``perf`` that samples nothing, for tests: it answers orders as the real one does, and reports what it is given."""

import os
import sys
from pathlib import Path

import pytest

from tdelta.profiling import perf

_PROGRAM = """#!{python}
import os, signal, sys
words = sys.argv[1:]
if words[0] == "version":
    print("perf version 6.1")
elif words[0] == "record":
    said = {said!r} or ("-a" in words and {said_of_cpus!r})
    if said:
        print(said, file=sys.stderr)
        sys.exit(255)
    pids, file = "all" if "-a" in words else words[words.index("-p") + 1], words[words.index("-o") + 1]
    orders, answers = map(int, words[words.index("--control") + 1].removeprefix("fd:").split(","))
    signals = []
    signal.signal(signal.SIGINT, lambda *_: signals.append(1) or len(signals) > {misses} and sys.exit(0))
    open(file, "w").write(pids)
    open({log!r}, "a").write(pids + "\\n")
    while order := os.read(orders, 64).decode().strip():
        if order == {dies_at!r} or ("-a" in words and order == {dies_on_cpus_at!r}):
            sys.exit(1)
        os.write(answers, b"ack\\n\\0")
elif words[0] == "script" and "--show-task-events" in words:
    print("   11/11    [000]    20.000000000: ")
    print("   11/11    [000]    20.001000000: PERF_RECORD_FORK(12:12):(11:11)")
    print("   12/12    [001]    20.002000000: ")
    if os.path.getsize({log!r}) and open({log!r}).read().count("\\n") in {loses!r}:
        print("   12/12    [001]    20.004000000: PERF_RECORD_LOST lost 6")
elif words[0] == "report":
    pids = open(words[words.index("-i") + 1]).read()
    sys.stdout.write({reports!r}.get(pids, {reports!r}.get("", "")))
"""


def install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    reports: dict[str, str],
    *,
    said: str = "",
    dies_at: str = "",
    looks_at_cpus: bool = False,
    said_of_cpus: str = "",
    dies_on_cpus_at: str = "",
    loses: tuple[int, ...] = (),
    misses: int = 0,
) -> Path:
    """Put it where ``perf`` is looked for; its ``perf script`` has processes 11 and, its child, 12, as threads.

    ``reports`` are by the processes it was attached to, or "all"; it dies at an order, with what it ``said``, loses
    a part of some recordings (from 1) and misses signals to end it. The file has a line for each recording.
    """
    program, log = folder / "perf", folder / "recordings"
    log.touch()
    program.write_text(
        _PROGRAM.format(
            loses=loses,
            misses=misses,
            python=sys.executable,
            said=said,
            said_of_cpus=said_of_cpus,
            log=str(log),
            dies_at=dies_at,
            dies_on_cpus_at=dies_on_cpus_at,
            reports=reports,
        )
    )
    program.chmod(0o755)
    monkeypatch.setattr(perf, "may_look_at_cpus", lambda: looks_at_cpus)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


def report(*lines: tuple[int, str, str], event: str = "cpu-clock", thread: int = 11) -> str:
    head = f"# Total Lost Samples: 0\n#\n# Samples: 9  of event '{event}'\n# Event count (approx.): 9\n#\n"
    rows = (
        f" {samples}  \t {samples * 1_001_001} \t{thread:>7}:twin  \t {dso}   \t{symbol}  \n"
        for samples, dso, symbol in lines
    )
    return head + "".join(rows)
