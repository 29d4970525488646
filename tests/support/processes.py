import time
from pathlib import Path


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_gone(pid: int) -> bool:
    """Whether a process goes, given time: the kernel ends a child some moments after its parent."""
    give_up = time.monotonic() + 20.0
    while is_running(pid) and time.monotonic() < give_up:
        time.sleep(0.01)
    return not is_running(pid)
