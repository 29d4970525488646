import os
import shutil
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.codes import cautions, check_refused
from support.refused import Part
from support.running import ANSWERED, SELDOM, read_until
from support.runs import ALONE, PATIENCE_SECONDS, ServerPlace, failed_checks, occupied, servers_of
from support.texts import has_no_answer

SMALL = ("--workload", "point-select", "--size", "2MB", *ALONE)
LONG_TRIALS = (*SMALL, "--trial-time", "1s", *SELDOM, "--blocks", "2", "--rounds", "1..1")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[ServerPlace]:
    yield from occupied("postgres", tmp_path)


def kill_one(place: ServerPlace, name: str) -> None:
    """Kill the first process of a server or a file system, and not one that it has started: that it would outlive."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not (found := roots_at_work(place, name)):
        assert time.monotonic() < give_up, f"no {name} was ever at work"
        time.sleep(0.01)
    os.kill(found[0], signal.SIGKILL)


def roots_at_work(place: ServerPlace, name: str) -> list[int]:
    """The processes of that name which none of that name has started, and which are neither stopped nor dead."""
    found = servers_of(place, name)
    pids = {pid for pid, _ in found}
    return [pid for pid, state in found if state not in "TZX" and parent_of(pid) not in pids]


def parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_a_server_or_a_file_system_that_is_killed_is_made_up_for(place: ServerPlace) -> None:
    process = place.start("run", "--json", *place.options(*LONG_TRIALS))
    read_until(process, "round 1: 2 blocks")
    kill_one(place, "postgres")
    read_until(process, "round 2: 2 blocks")
    kill_one(place, "gocryptfs")
    read_until(process, "lost: ")
    _, err = process.communicate(timeout=3 * PATIENCE_SECONDS)
    assert process.returncode in ANSWERED, err
    document = place.tdelta("show", "--json").document
    lost = cautions(document, "server-lost")
    assert [one.parameters["why_code"] for one in lost] == ["server-died"] * 2
    assert failed_checks(document) == []
    assert place.left() == []


def test_a_server_that_will_not_start_is_told_in_its_own_words(place: ServerPlace, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("initdb", "pg_ctl"):
        (programs / name).symlink_to(place.program.with_name(name))
    wrapper = programs / "postgres"
    said = "FATAL: the moon is in the wrong house"
    wrapper.write_text(
        f'#!/bin/sh\ncase "$*" in *config_file=*) echo "{said}" >&2; exit 1;; esac\nexec {place.program} "$@"\n'
    )
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    ran = place.tdelta("run", "--json", "--engine", "postgres", "--server-binary", str(wrapper), *LONG_TRIALS)
    check_refused(ran, "server-ended", status=1)
    assert said in ran.err


def test_without_gocryptfs_there_is_a_word_of_how_to_come_by_it(place: ServerPlace, tmp_path: Path) -> None:
    without = tmp_path / "path"
    without.mkdir()
    env = shutil.which("env")
    assert env is not None
    ran = place.limited((env, f"PATH={without}"), "run", *place.options(*LONG_TRIALS))
    assert (ran.code, has_no_answer(ran.out)) == (2, True)
    assert "gocryptfs" in ran.err
    assert "apt-get install" in ran.err
    assert not place.twins.exists()


def test_a_server_of_another_kind_is_refused(place: ServerPlace) -> None:
    ran = place.tdelta("run", "--json", "--engine", "mariadb", "--server-binary", str(place.program))
    check_refused(ran, "unexpected", expected=Part("mariadb"), found=Part("postgres"))
