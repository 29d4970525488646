"""Peers on the wire that are no servers: whatever a test has one do, and TDS as far as SQL Server's driver asks for it.

Sections are those of [MS-TDS], version 2026 or earlier: they kept their numbers.
"""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence

HEADER_BYTES = 8
BATCH, CALL, ATTENTION, TRANSACTION = 1, 3, 6, 14
"""Types of messages of a client's ([MS-TDS] 2.2.3.1.1)."""

CANNOT_ENCRYPT, ENCRYPTS = 2, 1
"""A server's answers on encryption ([MS-TDS] 2.2.6.5)."""

_DONE, _ERROR, _INFO, _CHANGE, _LET_IN, _COLUMNS, _ROW = 0xFD, 0xAA, 0xAB, 0xE3, 0xAD, 0x81, 0xD1
_TEXT, _TEXT_BYTES, _CAN_BE_NULL, _NULL = 0xE7, 8000, 9, b"\xff\xff"
_BEGIN, _COMMIT, _ROLLBACK = 5, 7, 8
_TRANSACTION = bytes(range(1, 9))
_MORE, _WITH_ERROR, _OF_ATTENTION = 1, 2, 0x20
_COLLATION = bytes([0x09, 0x04, 0xD0, 0x00, 0x34])
_VERSION = bytes([16, 0, 16, 39])
_LAST_PACKET = 1


@contextlib.contextmanager
def peer(does: Callable[[socket.socket], object]) -> Iterator[int]:
    """A peer on 127.0.0.1 that does something with each of a few connections, beside each other; its port."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        listening.settimeout(20)

        def attend(taken: socket.socket) -> None:
            with taken, contextlib.suppress(OSError):
                taken.settimeout(20)
                does(taken)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    taken, _ = listening.accept()
                    threading.Thread(target=attend, args=(taken,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


def read_message(taken: socket.socket) -> tuple[int, bytes]:
    """The type of one message of TDS and what is in it, in however many packets; 0 where the client hung up."""
    body, status = b"", 0
    while not status & _LAST_PACKET:
        head = taken.recv(HEADER_BYTES, socket.MSG_WAITALL)
        if len(head) < HEADER_BYTES:
            return 0, b""
        status, left = head[1], struct.unpack(">H", head[2:4])[0] - HEADER_BYTES
        body += taken.recv(left, socket.MSG_WAITALL) if left else b""
    return head[0], body


def packet(body: bytes) -> bytes:
    return struct.pack(">BBHHBB", 4, _LAST_PACKET, HEADER_BYTES + len(body), 0, 1, 0) + body


def prelogin(encryption: int) -> bytes:
    """A server's version, and whether it encrypts ([MS-TDS] 2.2.6.5)."""
    options = struct.pack(">BHH", 0, 11, 6) + struct.pack(">BHH", 1, 17, 1) + b"\xff"
    return packet(options + _VERSION + bytes([0, 0, encryption]))


def done(status: int = 0) -> bytes:
    """The end of an answer ([MS-TDS] 2.2.7.6)."""
    return struct.pack("<BHHQ", _DONE, status, 0, 0)


def error(number: int, words: str) -> bytes:
    """A refusal in a server's words ([MS-TDS] 2.2.7.10), and the end of the answer."""
    return _said(_ERROR, number, 14, words) + done(_WITH_ERROR)


def message(words: str) -> bytes:
    """A message ([MS-TDS] 2.2.7.13), and the end of the part of an answer that it is; more follows."""
    return _said(_INFO, 0, 0, words) + done(_MORE)


def _said(token: int, number: int, severity: int, words: str) -> bytes:
    said = struct.pack("<iBB", number, 1, severity) + struct.pack("<H", len(words)) + words.encode("utf-16le")
    said += _short("peer") + b"\0" + struct.pack("<i", 1)
    return struct.pack("<BH", token, len(said)) + said


def rows(columns: Sequence[str], values: Sequence[Sequence[str | None]]) -> bytes:
    """Rows of texts ([MS-TDS] 2.2.7.4, 2.2.7.19), and the end of the answer."""
    kind = struct.pack("<IHBH", 0, _CAN_BE_NULL, _TEXT, _TEXT_BYTES) + _COLLATION
    said = b"".join(kind + _short(name) for name in columns)
    for row in values:
        cells = (_NULL if text is None else struct.pack("<H", 2 * len(text)) + text.encode("utf-16le") for text in row)
        said += bytes([_ROW]) + b"".join(cells)
    return struct.pack("<BH", _COLUMNS, len(columns)) + said + done()


def let_in() -> bytes:
    """The answer to a log-in: database, collation, size of packets ([MS-TDS] 2.2.7.9), and who let it in (2.2.7.14)."""
    changes = (
        b"\x01" + _short("master") + _short(""),
        b"\x07" + bytes([len(_COLLATION)]) + _COLLATION + b"\0",
        b"\x04" + _short("4096") + _short("4096"),
    )
    who = b"\x01" + bytes([0x74, 0, 0, 4]) + _short("peer") + _VERSION
    tokens = [(_CHANGE, change) for change in changes] + [(_LET_IN, who)]
    return b"".join(struct.pack("<BH", token, len(body)) + body for token, body in tokens) + done()


def _short(text: str) -> bytes:
    """B_VARCHAR ([MS-TDS] 2.2.5.1.2)."""
    return bytes([len(text)]) + text.encode("utf-16le")


def refuses_login(taken: socket.socket) -> None:
    read_message(taken)
    taken.sendall(prelogin(CANNOT_ENCRYPT))
    read_message(taken)
    taken.sendall(packet(error(18456, "Login failed for user 'a'.")))
    taken.recv(1)  # until it hangs up


def knows_no_tls(taken: socket.socket) -> None:
    read_message(taken)
    taken.sendall(prelogin(CANNOT_ENCRYPT))
    taken.recv(1)


def talks_no_tls(taken: socket.socket) -> None:
    """A server that says it encrypts, and then does not."""
    read_message(taken)
    taken.sendall(prelogin(ENCRYPTS))
    taken.recv(HEADER_BYTES)
    taken.sendall(packet(b"no TLS, whatever was said"))


def answers(answer: Callable[[str], bytes | None]) -> Callable[[socket.socket], None]:
    """A server that lets everybody in, begins and ends transactions, and answers statements.

    Args:
        answer: given a statement, or the readable part of a call that has one, the tokens that go back; given
            ``BEGIN``, ``COMMIT`` or ``ROLLBACK`` for a transaction, what is not used. None: it hangs up; empty: it says
            nothing until it is asked to cancel.
    """

    def does(taken: socket.socket) -> None:
        read_message(taken)
        taken.sendall(prelogin(CANNOT_ENCRYPT))
        read_message(taken)
        taken.sendall(packet(let_in()))
        while (kind := (message := read_message(taken))[0]) != 0:
            said = done(_OF_ATTENTION) if kind == ATTENTION else _answered(kind, message[1], answer)
            if said is None:
                return
            if said:
                taken.sendall(packet(said))

    return does


def _answered(kind: int, body: bytes, answer: Callable[[str], bytes | None]) -> bytes | None:
    """The answer to what stands after the headers of a message ([MS-TDS] 2.2.6.6, 2.2.6.7, 2.2.6.9)."""
    asked = body[struct.unpack("<I", body[:4])[0] :]
    if kind == CALL:
        return answer(asked.replace(b"\0", b"").decode("latin-1"))
    if kind != TRANSACTION:
        return answer(asked.decode("utf-16le"))
    (what,) = struct.unpack("<H", asked[:2])
    number = bytes([len(_TRANSACTION)]) + _TRANSACTION
    word, change = {
        _BEGIN: ("BEGIN", b"\x08" + number + b"\0"),
        _COMMIT: ("COMMIT", b"\x09\0" + number),
        _ROLLBACK: ("ROLLBACK", b"\x0a\0" + number),
    }[what]
    answer(word)
    return struct.pack("<BH", _CHANGE, len(change)) + change + done()
