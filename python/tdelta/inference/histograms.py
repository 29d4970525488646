"""HdrHistogram payloads as arrays: which bins hold how many response times.

The interchange format is HdrHistogram V2, compressed (https://github.com/HdrHistogram/HdrHistogram, ``AbstractHistogram
.encodeIntoCompressedByteBuffer``): a zlib stream of a header and zigzag LEB128 numbers, a positive one being the count
of the next bin and a negative one so many empty bins. All of tdelta's histograms have one layout, 1 ns to 1 h, three
digits, so bins of different trials are the same bins; another layout is refused, not guessed at.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tdelta.errors import Defect

IntArray: TypeAlias = NDArray[np.int64]

RESOLUTION = 2.0**-10  # no bin above 1 µs is wider than this share of the times in it
_COMPRESSED_COOKIE, _COOKIE = 0x1C849314, 0x1C849313
_LAYOUT = (0, 3, 1)  # no offset, three significant digits, from 1 ns
_HALF_BITS = 10  # three digits take 2048 sub-buckets; every bucket after the first adds the upper half of them
_OUTER, _HEAD = struct.Struct(">ii"), struct.Struct(">iiiiqqd")
_MOST_BYTES = 1 << 20
_LONGEST_NUMBER = 8


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    bins: IntArray  # shape (n,), increasing bin numbers
    counts: IntArray  # shape (n,), all positive

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def beyond(self, bin_number: int) -> int:
        return int(self.counts[np.searchsorted(self.bins, bin_number, side="right") :].sum())


def decode(payload: bytes) -> Counts:
    """Read one payload. Raises `TdeltaError`: it is none, is cut off, or has another layout."""
    try:
        cookie, length = _OUTER.unpack_from(payload)
        body = zlib.decompressobj().decompress(payload[_OUTER.size : _OUTER.size + length], _MOST_BYTES)
        inner, size, *layout, _, _ = _HEAD.unpack_from(body)
        raw = np.frombuffer(body, np.uint8, size, _HEAD.size)
    except (struct.error, zlib.error, ValueError) as fault:
        found = f"{len(payload)} bytes of something else"
        raise Defect(f"histogram: expected an HdrHistogram V2 payload, found {found}") from fault
    if (cookie, inner) != (_COMPRESSED_COOKIE, _COOKIE) or tuple(layout) != _LAYOUT:
        raise Defect(
            "histogram: expected HdrHistogram V2 with offset, digits and lowest value (0, 3, 1),"
            f" found cookie {cookie:#x} and {tuple(layout)}"
        )
    return _counts(_numbers(raw))


def merged(parts: Sequence[Counts]) -> Counts:
    if len(parts) == 1:
        return parts[0]
    bins = np.concatenate([part.bins for part in parts]) if parts else np.empty(0, dtype=np.int64)
    counts = np.concatenate([part.counts for part in parts]) if parts else np.empty(0, dtype=np.int64)
    found, at = np.unique(bins, return_inverse=True)
    added = np.zeros(len(found), dtype=np.int64)
    np.add.at(added, at, counts)
    return Counts(found, added)


def bin_of(time_ns: int) -> int:
    bucket = max(0, time_ns.bit_length() - _HALF_BITS - 1)
    return (bucket << _HALF_BITS) + (time_ns >> bucket)


def shortest_ns(bins: IntArray) -> IntArray:
    """The shortest time of each bin: its lower edge."""
    bucket = np.maximum((bins >> _HALF_BITS) - 1, 0)
    return np.asarray((bins - (bucket << _HALF_BITS)) << bucket, dtype=np.int64)


def longest_ns(bins: IntArray) -> IntArray:
    """The longest time of each bin, which is what HdrHistogram calls the value at a quantile."""
    return shortest_ns(bins + 1) - 1


def _numbers(raw: NDArray[np.uint8]) -> IntArray:
    """Zigzag LEB128 numbers, seven bits per byte, the lowest first."""
    if raw.size == 0:
        return np.empty(0, dtype=np.int64)
    ends = np.flatnonzero(raw < 0x80)
    if ends.size == 0 or ends[-1] != raw.size - 1:
        raise Defect("histogram: expected whole numbers, found one that is cut off")
    starts = np.concatenate([[0], ends[:-1] + 1])
    place = np.arange(raw.size) - np.repeat(starts, ends - starts + 1)
    if place.max() >= _LONGEST_NUMBER:
        raise Defect("histogram: expected counts below 2^55, found a larger one")
    values = np.add.reduceat((raw & 0x7F).astype(np.int64) << (7 * place), starts)
    return np.asarray((values >> 1) ^ -(values & 1), dtype=np.int64)


def _counts(numbers: IntArray) -> Counts:
    steps = np.where(numbers < 0, -numbers, 1)
    bins = np.cumsum(steps) - steps
    full = numbers > 0
    return Counts(bins[full], numbers[full])
