"""Runs on private servers, through the command line. One class of tests an engine; most of them read one run."""

import csv
import io
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pytest

from support.codes import cautions, details
from support.running import Place, Ran, private_servers, require, server_of, waited_for
from tdelta.messages.checks import AA_CHECK, NO_MARKER
from tdelta.processes.mounts import mounts_below
from tdelta.processes.process_tree import parse_stat

BRIEF = ("--workload", "point-select", "--trial-time", "0.05s", "--blocks", "2", "--rounds", "1..1")
ALONE = ("--no-aa", "--no-bb")
PATIENCE_SECONDS = 60.0
MOST_SECONDS = 300.0
"""The time that a run may take; a tenth more is too long."""


@dataclass(frozen=True)
class ServerPlace(Place):
    engine: str = ""
    program: Path = Path()

    @property
    def sockets(self) -> Path:
        """Where sockets go whose paths would be too long: a folder with a short name."""
        return Path(tempfile.gettempdir()) / f"td-{os.getpid()}-{self.base.name[-12:]}"

    def options(self, *more: str) -> tuple[str, ...]:
        of = ("--engine", self.engine, "--server-binary", str(self.program))
        return *of, "--max-time", f"{MOST_SECONDS:.0f}s", *more

    def tdelta(self, *arguments: str) -> Ran:
        return waited_for(self.start(*arguments), 1.1 * MOST_SECONDS + PATIENCE_SECONDS)

    def measured(self, *options: str) -> Any:
        return self.tdelta("run", "--json", *self.options(*BRIEF, *options)).answer

    def limited(self, prefix: Sequence[str], *arguments: str) -> Ran:
        """A command that another program starts, which sets limits or takes things away."""
        process = subprocess.run(
            [*prefix, sys.executable, "-m", "tdelta", *arguments],
            capture_output=True,
            text=True,
            env=self._environment(),
            cwd=self.base,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return Ran(process.returncode, process.stdout, process.stderr)

    def left(self) -> list[str]:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while (found := self._left()) and time.monotonic() < give_up:
            time.sleep(0.05)
        return found

    def clear(self) -> None:
        """End what a failed test left, so that the next one does not meet it."""
        for pid, _ in processes_at(self.base):
            os.kill(pid, signal.SIGKILL)
        for point in mounts_below(self.base):
            subprocess.run(["umount", "--lazy", str(point)], check=False)
        shutil.rmtree(self.sockets, ignore_errors=True)

    def _left(self) -> list[str]:
        """Files that must not outlive a run: all but whole templates."""
        templates = self.twins / "templates"
        folders = [folder for base in (self.twins, self.sockets) if base.exists() for folder in base.iterdir()]
        folders = [*(folder for folder in folders if folder != templates), *templates.glob(".new-*")]
        named = [f"process {pid}: {words}" for pid, words in processes_at(self.base)]
        return [*named, *map(str, mounts_below(self.base)), *map(str, folders)]

    def _environment(self) -> dict[str, str]:
        self.sockets.mkdir(exist_ok=True)
        return super()._environment() | {"XDG_RUNTIME_DIR": str(self.sockets)}


def processes_at(folder: Path) -> list[tuple[int, str]]:
    """Every living process that works in a folder (also in one that is gone) or names it in its arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            here = str((process / "cwd").readlink())
            state = parse_stat((process / "stat").read_text())
        except OSError:
            continue
        if state.lives and (here.startswith(str(folder)) or str(folder) in words):
            found.append((int(process.name), words))
    return found


def servers_of(place: ServerPlace, name: str) -> list[tuple[int, str]]:
    """The processes of that name in this place, each with the letter of its state, parents first."""
    found = []
    for pid, _ in sorted(processes_at(place.base)):
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if text.partition("(")[2].rpartition(")")[0] == name:
            found.append((pid, parse_stat(text).state))
    return found


def at_work(place: ServerPlace, program: str) -> int:
    """The server that is not frozen, once there is one."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not (awake := [pid for pid, state in servers_of(place, program) if state not in "TZX"]):
        assert time.monotonic() < give_up, "no server was ever at work"
        time.sleep(0.01)
    return awake[0]


def place_of(engine: str, base: Path) -> ServerPlace:
    """A place for runs on that engine, or a skip; a failure where nothing may be missing."""
    if engine == "postgres":
        require(shutil.which("gocryptfs"), "apt-get install gocryptfs fuse3")
    return ServerPlace(base, engine, server_of(engine).path)


def occupied(engine: str, base: Path) -> Iterator[ServerPlace]:
    """The same for a fixture: whatever happens to the test, nothing of its runs may be left."""
    place = place_of(engine, base)
    try:
        yield place
        assert place.left() == []
    finally:
        place.clear()


def studied(study: str, engine: str, base: Path, *words: str, cache: str = "") -> Iterator[tuple[Place, Any]]:
    """The run of a study at a small scale, for a fixture; ``cache`` where that is another than the study's."""
    room = ("--cache", cache) if cache else ()
    for place in occupied(engine, base) if engine in private_servers() else iter([Place(base)]):
        options = place.options(*room) if isinstance(place, ServerPlace) else ("--engine", engine, *room)
        ran = place.tdelta("run", study, "--json", *options, *words, "--no-aa", "--no-bb")
        assert ran.code in (0, 3), ran.err
        yield place, ran.document


def failed_checks(document: Any) -> list[str]:
    return [c["code"] for c in document["validity"] if c["state"] == "failed" and c["makes_invalid"]]


def detail(document: Any, name: str) -> str:
    (found,) = [check["detail"] for check in document["validity"] if check["code"] == name]
    return str(found)


def states(document: Any, **levels: object) -> dict[str, str]:
    """The findings on each class of files on the twins of these levels, which must agree."""
    found: dict[str, set[str]] = {}
    for item in document["evidence"]:
        if all(item["condition"].get(factor) == level for factor, level in levels.items()):
            found.setdefault(item["file_class"], set()).add(item["state"])
    assert all(len(seen) == 1 for seen in found.values()), found
    return {name: seen.pop() for name, seen in found.items()}


def hit_ratio(place: ServerPlace, levels: dict[str, Any]) -> float:
    """The median over the trials of one condition of the last run."""
    found = [t["engine_counters"] for t in place.trials() if levels.items() <= t.items()]
    return statistics.median(max(0.0, 1 - c["buffer_reads"] / c["buffer_requests"]) for c in found)


def cpu_seconds(trial: dict[str, Any], whose: str = "") -> float:
    return sum(float(trial[f"{whose}cpu_{part}_seconds"]) for part in ("user", "system"))


def primary(document: Any) -> list[dict[str, Any]]:
    return [verdict for verdict in document["verdicts"] if verdict["primary"]]


class ServerRuns:
    engine: ClassVar[str]
    factors: ClassVar[Mapping[str, tuple[Any, ...]]]
    options: ClassVar[tuple[str, ...]]
    log: ClassVar[str]
    """The name of the class of files that holds the redo log."""

    @pytest.fixture(scope="class")
    @classmethod
    def swept(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerPlace, Any]]:
        for place in occupied(cls.engine, tmp_path_factory.mktemp("swept")):
            yield place, place.measured(*ALONE, *cls.options)

    @pytest.fixture
    @classmethod
    def place(cls, tmp_path: Path) -> Iterator[ServerPlace]:
        yield from occupied(cls.engine, tmp_path)

    def test_a_sweep_has_a_verdict_for_every_cell_and_its_checks_are_fulfilled(
        self, swept: tuple[ServerPlace, Any]
    ) -> None:
        _, document = swept
        encrypted = [v for v in primary(document) if v["condition"]["cipher"] != "none"]
        cells = [tuple(verdict["condition"][name] for name in self.factors) for verdict in encrypted]
        assert sorted(cells) == sorted(product(*self.factors.values()))
        assert all(v["ratio_of_means"]["hdi95"][0] < v["ratio_of_means"]["hdi95"][1] for v in encrypted)
        assert failed_checks(document) == []
        assert document["counts"]["trials"] == document["counts"]["blocks"] * 2 * len(cells)
        assert document["errors"] == {}

    def test_trials_say_what_server_and_client_used(self, swept: tuple[ServerPlace, Any]) -> None:
        trials = swept[0].trials()
        assert all(cpu_seconds(trial) > 0 for trial in trials)
        assert all(cpu_seconds(trial, "client_") > 0 for trial in trials)

    def test_what_servers_did_is_told_for_every_condition(self, swept: tuple[ServerPlace, Any]) -> None:
        place, document = swept
        servers = document["servers"]
        assert [m["condition"] for m in servers] == [c["levels"] for c in document["settings"]["conditions"]]
        for measured in servers:
            time = measured["time"]
            assert measured["throughput"]["median"] > 0
            assert 0 <= (time["io_share"] or 0.0) <= time["waiting_share"] < 1
            assert time["cores_at_most"] <= measured["condition"]["threads"]
            assert measured["cache"]["hit_ratio"]["median"] == pytest.approx(hit_ratio(place, measured["condition"]))
        compared = document["twin_settings"]
        assert len(compared["differing"]) == 1
        assert (len(compared["varied"]) > 0) == ("cache" in self.factors), "the size of the pool"
        assert any("version" in name for name in compared["shared"])

    def test_the_search_says_what_the_scope_covers(self, swept: tuple[ServerPlace, Any]) -> None:
        _, document = swept
        plain, encrypted = states(document, cipher="none"), states(document, cipher="aes-256")
        assert {plain["tables"], plain[self.log]} == {"plain"}
        assert encrypted["tables"] == "encrypted"
        clear = [str(one.parameters["classes"]) for one in details(document, NO_MARKER, "left-in-the-clear")]
        self.check_scope(encrypted, {name for classes in clear for name in classes.split(", ")})

    def check_scope(self, encrypted: dict[str, str], clear: set[str]) -> None:
        """Where only tables are encrypted: the log is among what is left in the clear."""
        assert encrypted[self.log] == "uncovered"
        assert self.log in clear

    def test_a_run_can_be_shown_reported_and_exported(self, swept: tuple[ServerPlace, Any]) -> None:
        place, document = swept
        shown = place.tdelta("show", "last", "--json")
        assert (shown.code, shown.document) == (document["exit_code"], document)
        page = place.base / "page.html"
        assert place.tdelta("report", "last", "--output", str(page)).code == document["exit_code"] or page.exists()
        assert document["run_id"] in page.read_text()
        rows = list(csv.DictReader(io.StringIO(place.tdelta("export", "last", "--format", "csv").out)))
        assert len(rows) == document["counts"]["trials"]
        for name, levels in self.factors.items():
            assert {row[name] for row in rows} == {str(level) for level in levels}


def check_load_of_others(place: ServerPlace, document: Any) -> None:
    assert failed_checks(document) == []
    assert cautions(document, "load-generator")
    trials = place.trials()
    assert len({trial["operations"] for trial in trials}) == 1
    assert all(cpu_seconds(trial, "client_") > 0 for trial in trials)
    assert all(trial["engine_counters"]["buffer_requests"] > 0 for trial in trials)


def check_instructions(document: Any) -> None:
    """Each server that encrypts has shown its level, and those without the instructions at another price."""
    assert failed_checks(document) in ([], [AA_CHECK])
    told = detail(document, "aes-instructions")
    on, off = (part.split(" µs")[0].split() for part in told.removeprefix("on ").split(", off ")[:2])
    assert min(map(float, off[::2])) > max(map(float, on[::2]))  # that it is twice the median is the check itself


def check_cipher_lines(document: Any) -> list[float]:
    """Every cost breakdown whose calls were timed has its cipher; brief runs may have no time for it, and say so.

    Returns what decrypting one takes, µs.
    """
    lines = [
        line for breakdown in document["cost_breakdown"] for line in breakdown["components"] if line["kind"] == "cipher"
    ]
    untimed = [
        breakdown
        for breakdown in document["cost_breakdown"]
        if "calls-not-timed" in {reason["code"] for reason in breakdown["unattributed"]}
    ]
    assert len(lines) + len(untimed) == len(document["cost_breakdown"])
    decrypted = []
    for line in lines:
        assert line["is_timed"], line["source"]
        names = ("AES-128-CBC decryptions", "AES-256-CBC decryptions")
        decrypted.append(next(item for item in line["items"] if item["what"] in names))
    assert all(item["count"] > 0 for item in decrypted)
    return [item["unit_cost_us"] for item in decrypted]
