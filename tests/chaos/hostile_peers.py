"""A MySQL and a PostgreSQL server that speak their protocol well enough for a whole trial, and misbehave as drawn.

All that is drawn for a conversation comes from its own generator, so that a try can be repeated.
"""

from __future__ import annotations

import contextlib
import random
import re
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

LIMITED = "SELECT limited"
"""The beginnings of queries whose answers the client limits in time: there a peer may be silent, or talk, for ever."""

UNWILLING = 0.01
"""How often a server says no, or that more results follow."""

FOR_EVER_SECONDS = 5.0
SOON_SECONDS = 0.1
_PIECE_BYTES = 1 << 16
_NAMED = re.compile(r"\bAS\s+[\"`]?(\w+)", re.IGNORECASE)
_VALUES = (
    *(None, "", "0", "1", "ON", "OFF", "-1", "9" * 40, "x" * 300, "1.5", "nan", "\x1b[31mred", "\n", "8.4.1"),
    *("11.4.2-MariaDB", "17.2", "MySQL Community Server - GPL", "tdelta run r1", "t", "f", "utf8mb4", "\ufffd", "'\"`"),
)


class Gone(Exception):
    """The conversation is over."""


class Peer:
    """One conversation: what is sent goes through `say`, which misbehaves at a share ``fault`` of the messages."""

    def __init__(self, link: socket.socket, draw: random.Random, fault: float) -> None:
        self.link = link
        self.draw = draw
        self.fault = fault
        self.is_limited = True

    def serve(self) -> None:
        """Speak until the client goes, or the faults say so."""
        raise NotImplementedError

    def frame(self, body: bytes) -> bytes:
        """A message whole, as the protocol frames it."""
        raise NotImplementedError

    def claim(self) -> bytes:
        """The beginning of a message that says it is very long."""
        raise NotImplementedError

    def say(self, body: bytes) -> None:
        """Send one message, or something else."""
        message = self.frame(body)
        if self.draw.random() >= self.fault:
            self._send(message)
            return
        kind = self.draw.choice(("mutate", "mutate", "mutate", "garbage", "claim", "stop", "close", "drip", "flood"))
        if kind == "mutate":
            self._send(self.frame(self._mutated(body)) if self.draw.random() < 0.7 else self._mutated(message))
        elif kind == "garbage":
            self._send(self.draw.randbytes(self.draw.choice((1, 5, 40, 3_000))))
        elif kind == "claim":
            self._send(self.claim() + self.draw.randbytes(self.draw.choice((0, 9, 70_000))))
            self._linger()
        elif kind == "stop":
            self._linger()
        elif kind == "drip":
            self._repeat(message, 1)
        elif kind == "flood":
            self._repeat(message * max(1, _PIECE_BYTES // len(message)), None)
        if kind in ("close", "claim", "stop", "drip", "flood"):
            raise Gone

    def value(self) -> str | None:
        """One value of a row."""
        return self.draw.choice(_VALUES) if self.draw.random() < 0.8 else "3"

    def hear(self, count: int) -> bytes:
        """So many bytes of the client's."""
        heard = b""
        while len(heard) < count:
            piece = self.link.recv(min(count - len(heard), _PIECE_BYTES))
            if not piece:
                raise Gone
            heard += piece
        return heard

    def _mutated(self, content: bytes) -> bytes:
        changed = bytearray(content)
        for _ in range(self.draw.choice((1, 1, 2, 6))):
            at = self.draw.randrange(len(changed) + 1)
            action = self.draw.randrange(5)
            if action == 0 and at < len(changed):
                changed[at] ^= 1 << self.draw.randrange(8)
            elif action == 1:
                changed[at : at + 1] = self.draw.choice((b"\xff", b"\x00", b"\x7f", b"\xfe", b"\xfb", b"\xfc", b"\x80"))
            elif action == 2:
                del changed[at:]
            elif action == 3:
                changed[at:at] = self.draw.choice((b"\xff" * 9, b"\x00" * 5, b"\xfe\xff\xff\xff\xff", b"A" * 300))
            else:
                del changed[at : at + self.draw.randrange(1, 9)]
        return bytes(changed)

    def _send(self, content: bytes) -> None:
        self.link.sendall(content)

    def _linger(self) -> None:
        """Keep the connection, without a word, until the client goes; where it waits without a limit, close it soon."""
        self.link.settimeout(FOR_EVER_SECONDS if self.is_limited else SOON_SECONDS)
        with contextlib.suppress(TimeoutError):
            while self.link.recv(_PIECE_BYTES):
                pass

    def _repeat(self, content: bytes, step: int | None) -> None:
        """Send the same again and again: all at once, or ``step`` bytes now and then."""
        pause = threading.Event()
        passed = 0.0
        while passed < (FOR_EVER_SECONDS if self.is_limited else SOON_SECONDS):
            for at in range(0, len(content), step or len(content)):
                self._send(content[at : at + (step or len(content))])
                pause.wait(0.01)
                passed += 0.01


class MysqlPeer(Peer):
    """The behavior of a MySQL server."""

    sequence = 0

    def frame(self, body: bytes) -> bytes:
        """A packet with its length and its number."""
        self.sequence += 1
        return struct.pack("<I", len(body))[:3] + bytes([(self.sequence - 1) & 255]) + body

    def claim(self) -> bytes:
        """Packets of 16 MB, of which any number makes one."""
        return self.draw.choice((b"\xff\xff\xff\x00", b"\xfe\xff\xff\x01", b"\xff\xff\x7f\x01\x00"))

    def serve(self) -> None:
        """Let anybody in, and answer commands."""
        self._log_in()
        while True:
            self.is_limited = False
            command = self._heard()
            self.is_limited = LIMITED.encode() in command
            sql = command[1:].decode(errors="replace")
            if command[:1] == b"\x01":
                return
            if command[:1] == b"\x03":
                self._query(sql)
            elif command[:1] == b"\x16":
                self._prepare(sql)
            elif command[:1] == b"\x17":
                self._execute()

    def _log_in(self) -> None:
        plugin = self.draw.choice((b"mysql_native_password", b"caching_sha2_password", b"sha256_password"))
        capabilities = 0x012FA28D if self.draw.random() < 0.97 else self.draw.getrandbits(32)
        scramble = bytes(self.draw.randrange(1, 127) for _ in range(20))
        greeting = b"\x0a8.4.1\x00" + struct.pack("<I", 7) + scramble[:8] + b"\x00"
        greeting += struct.pack("<HBHHB", capabilities & 0xFFFF, 45, 2, capabilities >> 16, 21) + bytes(10)
        self.say(greeting + scramble[8:] + b"\x00" + plugin + b"\x00")
        heard = self._heard()
        if self.draw.random() < 0.2:
            others = (b"mysql_native_password", b"sha256_password", b"caching_sha2_password", b"parsec")
            plugin = self.draw.choice(others)
            self.say(b"\xfe" + plugin + b"\x00" + scramble + b"\x00")
            heard = self._heard()
        if plugin == b"caching_sha2_password":
            is_known = self.draw.random() < 0.5
            self.say(b"\x01\x03" if is_known else b"\x01\x04")
            heard = b"" if is_known else self._heard()
        if heard in (b"\x01", b"\x02"):  # it asks for the key
            self.say(b"\x01" + KEY)
            self._heard()
        self._done()

    def _query(self, sql: str) -> None:
        if sql.startswith("LOAD DATA"):
            self.say(b"\xfbrows")
            rows = 0
            while lines := self._heard():
                rows += lines.count(b"\n")
            self._done(rows=rows)
        elif sql.lstrip("( ").upper().startswith(("SELECT", "SHOW")):
            names = columns(sql)
            self._definitions(names, counted=True)
            for _ in range(self.draw.randrange(4)):
                self.say(b"".join(_lenenc(self.value()) for _ in names))
            self._done(b"\xfe")
        else:
            self._done()

    def _prepare(self, sql: str) -> None:
        names = columns(sql) if sql.upper().startswith("SELECT") else []
        parameters = sql.count("?")
        self.say(b"\x00" + struct.pack("<IHHBH", 1, len(names), parameters, 0, 0))
        self._definitions(["?"] * parameters)
        self._definitions(names)
        self.names = names

    def _execute(self) -> None:
        if not self.names:
            self._done()
            return
        self._definitions(self.names, counted=True)
        for _ in range(self.draw.randrange(1, 3)):
            self.say(bytes(1 + (len(self.names) + 9) // 8) + b"".join(_lenenc(self.value() or "") for _ in self.names))
        self._done(b"\xfe")

    def _definitions(self, names: list[str], *, counted: bool = False) -> None:
        if counted:
            self.say(bytes([len(names)]))
        for name in names:
            texts = b"".join(map(_lenenc, ("def", "s", "t", "t", name, name)))
            kind = 253 if self.draw.random() < 0.95 else self.draw.choice((252, 8, 3, 12, 11, 246, 4, 5, 1))
            self.say(texts + b"\x0c" + struct.pack("<HIBHB", 45, 100, kind, 0, 0) + bytes(2))

    def _done(self, first: bytes = b"\x00", rows: int = 1) -> None:
        if self.draw.random() < UNWILLING:
            self.say(
                b"\xff" + struct.pack("<H", self.draw.choice((1045, 1064, 1205, 2, 1295))) + b"#HY000\x1b[31mno" * 9
            )
            return
        more = 8 if self.draw.random() < UNWILLING else 0
        self.say(first + bytes([rows, 0]) + struct.pack("<HH", 2 | more, 0))

    def _heard(self) -> bytes:
        header = self.hear(4)
        self.sequence = header[3] + 1
        return self.hear(int.from_bytes(header[:3], "little"))


class PostgresPeer(Peer):
    """The behavior of a PostgreSQL server."""

    def frame(self, body: bytes) -> bytes:
        """A message with its length behind its kind."""
        return body[:1] + struct.pack(">I", len(body) + 3) + body[1:] if body else b""

    def claim(self) -> bytes:
        """Lengths of 1 MB to 4 GB."""
        kind = self.draw.choice((b"D", b"T", b"E", b"N", b"R", b"S"))
        return kind + self.draw.choice(
            (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x3f\xff\xff\xff", b"\x00\x0f\xff\x00")
        )

    def serve(self) -> None:
        """Let anybody in, and answer messages."""
        self.hear(struct.unpack(">I", self.hear(4))[0] - 4)
        self._log_in()
        names: list[str] = []
        while True:
            self.is_limited = False
            kind = self.hear(1)
            body = self.hear(struct.unpack(">I", self.hear(4))[0] - 4)
            sql = body.lstrip(b"\x00").decode(errors="replace")
            self.is_limited = LIMITED in sql
            if kind == b"X":
                return
            if kind == b"Q":
                self._query(sql)
            elif kind == b"P":
                sql = body.split(b"\x00")[1].decode(errors="replace")
                names = columns(sql) if sql.upper().startswith("SELECT") else []
                marks = len(set(re.findall(r"\$\d+", sql)))
                self.say(b"1")
            elif kind == b"D":
                self.say(b"t" + struct.pack(">H", marks) + struct.pack(">I", 20) * marks)
                self._described(names)
            elif kind == b"B":
                self.say(b"2")
            elif kind == b"E":
                self._rows(names)
            elif kind == b"S":
                self.say(b"ZI")

    def _log_in(self) -> None:
        way = self.draw.choice((0, 0, 0, 0, 0, 0, 3, 5, 5, 10, 7))
        if way == 10:
            self.say(b"R" + struct.pack(">I", 10) + b"SCRAM-SHA-256\x00\x00")
            self._answer()
            iterations = self.draw.choice(("4096", "1", "0", "4294967295", "2147483647", "99999999999", "-1", "x"))
            self.say(b"R" + struct.pack(">I", 11) + f"r=abc,s=c2FsdA==,i={iterations}".encode())
            self._answer()
            self.say(b"R" + struct.pack(">I", 12) + b"v=AAAA")
        elif way:
            self.say(b"R" + struct.pack(">I", way) + b"salt" * (way == 5))
            self._answer()
        self.say(b"R" + bytes(4))
        self.say(b"Sserver_version\x0017.2\x00")
        self.say(b"K" + bytes(8))
        self.say(b"ZI")

    def _answer(self) -> None:
        self.hear(1)
        self.hear(struct.unpack(">I", self.hear(4))[0] - 4)

    def _query(self, sql: str) -> None:
        if sql.startswith("COPY"):
            self.say(b"G" + struct.pack(">BH", 0, 1) + bytes(2))
            kind = b""
            while kind not in (b"c", b"f"):
                kind = self.hear(1)
                self.hear(struct.unpack(">I", self.hear(4))[0] - 4)
        elif sql.lstrip("( ").upper().startswith(("SELECT", "SHOW", "WITH")):
            names = columns(sql)
            self._described(names)
            for _ in range(self.draw.randrange(3)):
                self._rows(names)
        self._ended()
        self.say(b"ZI")

    def _described(self, names: list[str]) -> None:
        if not names:
            self.say(b"n")
            return
        told = b"T" + struct.pack(">H", len(names))
        for name in names:
            oid = 25 if self.draw.random() < 0.95 else self.draw.choice((20, 23, 701, 16, 1700, 17, 1042, 600))
            told += name.encode() + b"\x00" + struct.pack(">IHIhih", 1, 1, oid, 8, -1, 0)
        self.say(told)

    def _rows(self, names: list[str]) -> None:
        if names:
            self.say(b"D" + struct.pack(">H", len(names)) + b"".join(_counted(self.value()) for _ in names))

    def _ended(self) -> None:
        if self.draw.random() < UNWILLING:
            code = self.draw.choice((b"42601", b"40001", b"28000", b"57P01", b""))
            self.say(
                b"ESERROR\x00VERROR\x00C" + code + b"\x00M\x1b[31m" + b"no" * self.draw.choice((1, 4_000)) + b"\x00\x00"
            )
        else:
            self.say(b"CSELECT 1\x00")


PEERS = {"mysql": MysqlPeer, "postgres": PostgresPeer}


@contextlib.contextmanager
def listening(place: Path | None, protocol: str, seed: str, fault: float) -> Iterator[int]:
    """A server on a Unix socket, or on a port of the loopback address (which is given), until the block ends."""
    listener = socket.socket(socket.AF_INET if place is None else socket.AF_UNIX)
    listener.bind(("127.0.0.1", 0) if place is None else str(place))
    listener.listen()
    open_links: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def converse(link: socket.socket, number: int) -> None:
        link.settimeout(FOR_EVER_SECONDS)
        with link, contextlib.suppress(OSError, Gone, ValueError, IndexError, struct.error):
            PEERS[protocol](link, random.Random(f"{seed}/{number}"), fault).serve()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                link, _ = listener.accept()
                open_links.append(link)
                threads.append(threading.Thread(target=converse, args=(link, len(threads))))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield listener.getsockname()[1] if place is None else 0
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for link in open_links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
        if place is not None:
            place.unlink()


def columns(sql: str) -> list[str]:
    """The names of what a query selects, as far as they are easily seen."""
    return _NAMED.findall(sql) or ["n", "name"]


def _lenenc(text: str | None) -> bytes:
    if text is None:
        return b"\xfb"
    encoded = text.encode()
    return (
        bytes([len(encoded)]) + encoded if len(encoded) < 251 else b"\xfc" + struct.pack("<H", len(encoded)) + encoded
    )


def _counted(text: str | None) -> bytes:
    if text is None:
        return struct.pack(">i", -1)
    return struct.pack(">i", len(text.encode())) + text.encode()


KEY = b"""-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAxSKOcxiet8lLMn8ImyUE
bGGKob5EdRz/4wdiw12ED0GfKKTKhVnodFCfm1mdy7bKOX5QxL9skrvYodpW43eR
R5bfOzIgy1qIB8RYb6qOXRBw1oA4snBDqtUjDv/lbHLJN+IbzM4oU+e3Lt9rXyLX
VY289ewONPweXHqSCnTL91w+wkU1peIFV2QhZ+upUCdCtwOn5hnJPNgxtbklFoya
C8W3Z7Xx7He2QDJsEWAqX197efw0L6j8X8Tyd8Uwb7zUB1tfMGhHfm9EwejPAtzx
4GztQNtNMtGS2oGZLQBLV9hib4dDL92iiZeckg2LAf4GsJofLLR8mcHCRoqVbQJ1
YQIDAQAB
-----END PUBLIC KEY-----
"""
