import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tdelta.messages import Refusal

HIT = """
import os, sys, signal
class Hit:
    def find_spec(self, fullname, *_):
        if fullname == {module!r}:
            for _ in range({times}):
                os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Hit())
from tdelta.__main__ import main
main()
"""


def tdelta(words: str, program: str = "from tdelta.__main__ import main; main()") -> subprocess.CompletedProcess[str]:
    """``tdelta`` with words that a shell reads, redirections among them."""
    command = ["bash", "-c", f'"$0" -c "$1" {words}', sys.executable, program]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
@pytest.mark.parametrize("module", ["resource", "tdelta.cli.main", "tdelta.report.listings"])
def test_signals_during_the_imports_end_with_a_word(number: signal.Signals, module: str) -> None:
    ended = tdelta("engines", HIT.format(module=module, number=int(number), times=40))
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted\n")


def test_a_signal_during_the_imports_of_a_command_ends_with_a_word() -> None:
    ended = tdelta("cipher-cost", HIT.format(module="tdelta.measure.cipher_cost", number=2, times=1))
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "error: interrupted\n")


def test_a_hang_up_is_not_heard_after_nohup() -> None:
    program = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    ended = tdelta("studies", program + HIT.format(module="tdelta.cli.main", number=1, times=1))
    assert ended.returncode == 0


@pytest.mark.parametrize("words", ["--help", "--version", "run --help", "engines", "engines --json", "studies"])
def test_a_full_disk_under_standard_output_is_told(words: str) -> None:
    ended = tdelta(f"{words} >/dev/full")
    assert ended.returncode == 2
    fault = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert ended.stderr == f"error: {Refusal.of('output-not-writable', fault=fault)}\n"


def test_a_closed_standard_output_is_told_on_standard_error() -> None:
    ended = tdelta("engines >&-")
    assert ended.returncode == 2
    assert ended.stderr == f"error: {Refusal.of('stream-closed', name='output', sign='>')}\n"


def test_a_closed_standard_error_is_told_on_standard_output() -> None:
    ended = tdelta("engines 2>&-")
    assert ended.returncode == 2
    assert ended.stdout == f"error: {Refusal.of('stream-closed', name='error', sign='2>')}\n"


@pytest.mark.parametrize(
    ("words", "code"), [("frobnicate 2>/dev/full", 2), ("frobnicate >&- 2>&-", 2), ("engines <&-", 0)]
)
def test_streams_that_nobody_can_read_change_no_exit_code(words: str, code: int) -> None:
    assert tdelta(words).returncode == code


@pytest.mark.parametrize(
    ("limit", "least"), [("-v 150000", "-v 400000"), ("-v 300000", "-v 400000"), ("-n 16", "-n 64")]
)
def test_too_little_room_for_any_command_is_told_before_its_modules_are_read(limit: str, least: str) -> None:
    command = ["bash", "-c", f"ulimit {limit} && exec {sys.executable} -m tdelta engines"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (2, "", 1)
    assert limit.split()[1] in ended.stderr
    assert f"ulimit {least}" in ended.stderr


PANIC = """
from tdelta import _native
from tdelta.cli.main import guarded
raise SystemExit(guarded(lambda: _native.page_copies_ns(2**62, 2**63, 1)))
"""


def test_a_panic_of_the_native_module_is_an_internal_error_with_a_report_and_without_data(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", PANIC]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    (report,) = tmp_path.iterdir()
    words = f"error: an internal error of tdelta's native module; {report} says where, without data or keys"
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(words)
    assert len(ended.stderr.splitlines()) == 1
    assert report.stat().st_mode & 0o777 == 0o600
    text = report.read_text(encoding="utf-8")
    assert "internal error at" in text
    assert "capacity overflow" in text


MEMORY = """
import contextlib
import resource
from pathlib import Path
from tdelta import _native
from tdelta.cli.main import main
with contextlib.suppress(SystemExit):
    main(["--version"])
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (64 << 20),) * 2)
_native.page_copies_ns(4096, 1 << 34, 1)
"""


def test_memory_that_the_native_module_does_not_get_ends_the_process_with_a_sentence() -> None:
    ended = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr == f"error: {Refusal.of('no-memory')}\n"
