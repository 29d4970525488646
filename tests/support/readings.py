"""Hand-built readings of files, one list for each thing that ``tdelta verify`` can say."""

from pathlib import Path

from tdelta.evidence.headers import Header, Meaning
from tdelta.evidence.reading import (
    BlockKinds,
    ByteStatistics,
    FileReading,
    Marker,
    MarkerFound,
    ReadState,
    parse_markers,
)

FOLDER = Path("/srv/app/data")


def blocks(size: int, random: int = 0, low: int = 0, between: int = 0, zero: int = 0) -> BlockKinds:
    judged = random + low + between
    bits = (7.95 * random + 4.2 * low + 7.1 * between) / judged if judged else None
    return BlockKinds(size, judged + zero, random, zero, low, between, 0, bits and bits - 0.4, bits)


def reading(
    name: str,
    state: ReadState,
    reasons: tuple[str, ...],
    kinds: BlockKinds,
    header: Header | None = None,
    markers: tuple[MarkerFound, ...] = (),
) -> FileReading:
    size = kinds.blocks * kinds.block_bytes
    bits = kinds.entropy_mean_bits
    counted = ByteStatistics(
        kinds.zero * 4096, bits, None if bits is None else 261.5, 12, 103, 9, (kinds, blocks(65_536))
    )
    return FileReading(FOLDER / name, size, state, reasons, header, markers, counted)


def one_of_each() -> tuple[tuple[FileReading, ...], tuple[Marker, ...]]:
    """A leaking log beside an encrypted database."""
    found = MarkerFound("account 4711", "utf-8", 3, 90_112)
    readings = (
        reading(
            "app.db", ReadState.LOOKS_RANDOM, ("12,207 of 12,207 blocks look random",), blocks(4096, random=12_207)
        ),
        reading(
            "app.db-wal",
            ReadState.PLAIN,
            ("marker 'account 4711' (utf-8) 3 times, first at byte 90,112", "98 of 100 blocks hold little information"),
            blocks(4096, low=98, between=2),
            Header("SQLite write-ahead log", Meaning.NEUTRAL),
            (found,),
        ),
        reading("spool/pages", ReadState.MIXED, ("40 of 90 blocks look random",), blocks(4096, random=40, between=50)),
        reading("spool/empty", ReadState.EMPTY, ("zeros only",), blocks(4096, zero=3)),
    )
    return readings, parse_markers(["account 4711"])


def absent() -> tuple[tuple[FileReading, ...], tuple[Marker, ...]]:
    return one_of_each()[0][:1], parse_markers(["account 4711", "hex:00112233445566"])


def without_marker() -> tuple[tuple[FileReading, ...], tuple[Marker, ...]]:
    """Bytes alone."""
    return (one_of_each()[0][0], one_of_each()[0][2]), ()


def nothing() -> tuple[tuple[FileReading, ...], tuple[Marker, ...]]:
    return (), ()


def server() -> tuple[tuple[FileReading, ...], tuple[Marker, ...]]:
    name = "InnoDB tablespace, 226 of 227 sampled pages encrypted; its first page is plain by design"
    tablespace = Header(name, Meaning.ENCRYPTED)
    low = ("1 of 1 blocks hold little information a byte",)
    readings = (
        reading("mysql/user.frm", ReadState.PLAIN, low, blocks(4096, low=1)),
        reading("notes.txt", ReadState.PLAIN, ("97% of it is printable text",), blocks(4096, low=1)),
        reading(
            "ib_logfile0", ReadState.MIXED, ("5 of 1,044 blocks look random",), blocks(4096, random=5, between=1_039)
        ),
        reading("shop/orders.ibd", ReadState.ENCRYPTED, (f"header: {name}",), blocks(4096, random=904), tablespace),
    )
    return readings, ()


READINGS = {made.__name__: made for made in (one_of_each, absent, without_marker, nothing, server)}
