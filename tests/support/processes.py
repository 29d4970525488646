import time
from collections.abc import Callable
from pathlib import Path


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def eventually(is_so: Callable[[], object], seconds: float = 60.0, every: float = 0.01) -> bool:
    give_up = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < give_up:
        time.sleep(every)
    return bool(found)


def until(is_so: Callable[[], object], seconds: float = 120.0, every: float = 0.01) -> None:
    assert eventually(is_so, seconds, every), f"not so within {seconds:.0f} s"


def is_gone(pid: int) -> bool:
    """Whether a process goes, given time: the kernel ends a child some moments after its parent."""
    return eventually(lambda: not is_running(pid), 20.0)
