"""One ``tdelta run`` on a node of a fleet: a process that runs it in a private folder and returns its pack.

The order is a line of JSON on standard input, ``{"words": […]}``; the answer is one on standard output. When its input
ends before, whoever asked is gone: then the run is asked to end, which tidies up after itself, and the folder is
removed. Where this process is killed, the kernel asks the run to end.

Ray kills the children of an actor's process when that one ends, as it does where a node has lost its head. It does not
kill their children, so the work is done in one of these, which can then tidy up.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tdelta import own_folders
from tdelta.measure.starting import dying_with

FOLDERS = "tdelta-site-"
"""How folders of runs begin, in the node's folder for temporary files."""

GRACE_SECONDS = 60.0
"""How long a run that was asked to end may tidy up."""

_MOST_SAID = 4000


def site_run(words: list[str], folder: Path, stopped: threading.Event) -> dict[str, Any]:
    """Run ``tdelta run`` with these words, its store in a folder, and return its code, its document and its pack."""
    store = ["--store", str(folder / "runs")]
    code, document, said = _tdelta(["run", *words, "--no-project", "--json", *store], folder, stopped)
    found: dict[str, Any] = {"code": code, "run_id": "", "pack": "", "said": said[-_MOST_SAID:]}
    with contextlib.suppress(ValueError, AttributeError):
        found["run_id"] = json.loads(document).get("run_id") or ""
    if found["run_id"] and not stopped.is_set():
        pack = folder / "run.tdelta"
        code, _, said = _tdelta(["pack", found["run_id"], "--output", str(pack), *store], folder, stopped)
        if code:
            return {**found, "code": code, "said": said[-_MOST_SAID:]}
        found["pack"] = base64.b64encode(pack.read_bytes()).decode()
    return found


def _tdelta(words: list[str], folder: Path, stopped: threading.Event) -> tuple[int, str, str]:
    out, err = folder / "stdout", folder / "stderr"
    with out.open("wb") as to, err.open("wb") as said:
        child = subprocess.Popen(
            [sys.executable, "-m", "tdelta", *words],
            stdin=subprocess.DEVNULL,
            stdout=to,
            stderr=said,
            start_new_session=True,
            preexec_fn=dying_with(os.getpid(), signal.SIGTERM),  # which it tidies up after
        )
        ended = threading.Event()
        threading.Thread(target=_end_when, args=(child, stopped, ended), daemon=True).start()
        code = child.wait()
        ended.set()
    return code, out.read_text(errors="replace"), err.read_text(errors="replace").strip()


def _end_when(child: subprocess.Popen[bytes], stopped: threading.Event, ended: threading.Event) -> None:
    """Ask the run to end when it is to stop, and kill it where it does not."""
    stopped.wait()
    child.terminate()
    if not ended.wait(GRACE_SECONDS):
        child.kill()


def main() -> None:
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        os._exit(abs(os.waitstatus_to_exitcode(status)))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    order = json.loads(sys.stdin.readline())
    stopped = threading.Event()

    def hear() -> None:
        sys.stdin.read()
        stopped.set()

    threading.Thread(target=hear, daemon=True).start()
    own_folders.remove_of_dead(Path(tempfile.gettempdir()), FOLDERS)
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDERS}{os.getpid()}-"))
    try:
        found = site_run(order["words"], folder, stopped)
    finally:
        own_folders.remove(folder)
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    os._exit(0)  # the thread that hears waits for more


if __name__ == "__main__":
    main()
