import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes import until
from support.refused import Coded, Part, coded, refused
from tdelta.errors import EnvironmentFault, UsageError
from tdelta.processes.actions import Halt
from tdelta.processes.pipelines import Program, Programs
from tdelta.processes.process_tree import living

BURNT = 0.3
BURN = f"import time\nwhile time.process_time() < {BURNT}: pass"


@pytest.fixture
def halt() -> Halt:
    return Halt()


@pytest.fixture
def programs(tmp_path: Path, halt: Halt) -> Iterator[Programs]:
    with Programs(tmp_path, halt) as found:
        yield found


def test_a_pipeline_reads_a_file_and_writes_one_for_its_owner_only(programs: Programs, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"one\n" * 100_000)
    programs.run(("cat",), ("tr", "o", "O"), ("cat",), source=source, target=target)
    assert target.read_bytes() == b"One\n" * 100_000
    assert target.stat().st_mode & 0o777 == 0o600


def test_the_cpu_time_of_all_programs_is_found(programs: Programs) -> None:
    burnt = programs.run((sys.executable, "-c", BURN), (sys.executable, "-c", BURN))
    idle = programs.run(("true",))
    assert burnt.cpu_user_seconds + burnt.cpu_system_seconds >= 2 * BURNT
    assert idle.cpu_user_seconds + idle.cpu_system_seconds < BURNT


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        (
            [("sh", "-c", "echo no-room >&2; exit 7"), ("cat",)],
            coded("program-failed", program="sh", status=7, said="no-room"),
        ),
        ([("yes",), ("sh", "-c", "exit 3")], coded("program-failed", program="sh", status=3, said="nothing")),
        (
            [("cat", "/dev/null"), ("no-such-program",)],
            coded(
                "program-missing", program="cat | no-such-program", remedy="no-such-program: No such file or directory"
            ),
        ),
    ],
)
def test_what_fails_says_so_whichever_it_is(programs: Programs, stages: list[tuple[str, ...]], said: Coded) -> None:
    with refused(EnvironmentFault, said):
        programs.run(*stages)
    programs.run(("true",))


def test_a_halt_ends_what_runs_and_its_end_leaves_no_process(tmp_path: Path, halt: Halt) -> None:
    with Programs(tmp_path, halt) as programs:
        programs.begin(("sleep", "1000"), ("cat",))
        until(lambda: len(living(programs.pid)) == 2)
        halt.ask()
        with refused(EnvironmentFault, "action-stopped", what=Part("sleep | cat")):
            programs.answer()
        running = living(programs.pid)
        assert len(running) == 2
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in running))


def test_a_program_that_is_missing_is_refused_with_the_remedy() -> None:
    with refused(UsageError, "program-missing", program="no-such-program", remedy="install it from there"):
        Program("no-such-program", "install it from there").require()
    Program("sh", "").require()
