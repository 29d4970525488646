"""A program that behaves as a database server does: ``fake_server.py SOCKET FOLDER [MODE]``.

It has a child in a session of its own, as PostgreSQL has; both say that they are alive by adding to ``FOLDER/ticks``.
"""

import contextlib
import os
import signal
import socket
import sys
import time
from pathlib import Path

GREETING = b"\x00\x00\x00\x00\x0aready"


def tick(folder: Path) -> None:
    with (folder / "ticks").open("ab") as ticks:
        ticks.write(b".")


def live(folder: Path) -> None:
    while True:
        tick(folder)
        time.sleep(0.01)


def listen(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        while True:
            client, _ = server.accept()
            with client, contextlib.suppress(OSError):  # one that asked while the server was frozen is gone
                client.sendall(GREETING)


def main() -> None:
    path, folder, mode = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    folder.mkdir(exist_ok=True)
    if mode == "fails":
        sys.stdout.write("[ERROR] no such table space\n" + "word\n" * 30)
        sys.exit(7)
    if mode == "full":
        sys.exit("[ERROR] write: No space left on device")
    if mode == "speechless":
        sys.exit(1)
    if mode == "silent":
        live(folder)
    child = os.fork()
    if child == 0:
        os.setsid()
        live(folder)

    def leave(*_: object) -> None:
        os.kill(child, signal.SIGKILL)
        os._exit(0)

    signal.signal(signal.SIGTERM, signal.SIG_IGN if mode == "stubborn" else leave)
    listen(path)


if __name__ == "__main__":
    main()
