"""How fast gocryptfs's own AES is on this machine, by its own speed test: proof that AES instructions are hidden."""

import os
import re
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from tdelta.errors import Defect

_AES = re.compile(r"^AES-GCM-256-Go\s+([\d.]+) MB/s")

_SPEED_SECONDS = 60.0


def aes_megabytes_per_second(program: Path, environment: Mapping[str, str] | None = None) -> float:
    """The speed of AES-256-GCM in Go on blocks of 4 KiB, on one CPU; takes a second or two."""
    question = [str(program), "-speed"]
    try:
        process = subprocess.Popen(
            question, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
        )
    except OSError as error:
        raise Defect(f"{program} cannot be run: {error.strerror}") from error
    watchdog = threading.Timer(_SPEED_SECONDS, process.kill)
    watchdog.start()
    with process:  # waits for its end, whatever happens
        try:
            return _read(process)
        finally:
            watchdog.cancel()
            process.kill()  # the other ciphers' speeds are nobody's question


def _read(process: subprocess.Popen[str]) -> float:
    lines = []
    for line in process.stdout or ():
        lines.append(line.rstrip())
        if found := _AES.match(line):
            return float(found.group(1))
    raise Defect(f"gocryptfs -speed: expected a line for AES-GCM-256-Go, found {' | '.join(lines)!r}")
