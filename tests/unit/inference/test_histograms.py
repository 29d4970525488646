import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta._native import histogram_of, histogram_summary
from tdelta.errors import TdeltaError
from tdelta.inference.histograms import RESOLUTION, bin_of, decode, longest_ns, merged, shortest_ns

HOUR_NS = 3_600_000_000_000
TIMES = st.dictionaries(st.integers(1, HOUR_NS), st.integers(1, 10**9), min_size=1, max_size=60)


@given(TIMES)
def test_every_count_is_in_the_bin_of_its_time(counted: dict[int, int]) -> None:
    found = decode(histogram_of(list(counted), list(counted.values())))
    expected: dict[int, int] = {}
    for time_ns, count in counted.items():
        expected[bin_of(time_ns)] = expected.get(bin_of(time_ns), 0) + count
    assert dict(zip(found.bins.tolist(), found.counts.tolist(), strict=True)) == expected
    assert found.total == sum(counted.values())


@given(TIMES, st.floats(0.01, 1.0))
def test_a_quantile_read_from_the_bins_is_the_native_decoder_s(counted: dict[int, int], quantile: float) -> None:
    payload = histogram_of(list(counted), list(counted.values()))
    *_, (native,) = histogram_summary([payload], [quantile])
    found = decode(payload)
    reached = np.cumsum(found.counts) >= quantile * found.total * (1 - 1e-12)
    assert longest_ns(found.bins[np.argmax(reached)][None])[0] == native


@given(st.integers(0, HOUR_NS))
def test_a_time_lies_between_the_ends_of_its_bin_which_is_narrow(time_ns: int) -> None:
    at = np.array([bin_of(time_ns)])
    shortest, longest = int(shortest_ns(at)[0]), int(longest_ns(at)[0])
    assert shortest <= time_ns <= longest
    assert longest - shortest <= RESOLUTION * time_ns
    assert bin_of(longest) == at[0]
    assert bin_of(longest + 1) == at[0] + 1


@given(TIMES, TIMES)
def test_merging_adds_counts_up(one: dict[int, int], other: dict[int, int]) -> None:
    both = merged([decode(histogram_of(list(part), list(part.values()))) for part in (one, other)])
    summed = {time: one.get(time, 0) + other.get(time, 0) for time in {*one, *other}}
    whole = decode(histogram_of(list(summed), list(summed.values())))
    assert (both.bins.tolist(), both.counts.tolist()) == (whole.bins.tolist(), whole.counts.tolist())


def test_nothing_merged_is_an_empty_histogram_and_an_empty_payload_holds_nothing() -> None:
    assert merged([]).total == 0
    assert decode(histogram_of([], [])).total == 0


def test_beyond_a_bin_is_what_lies_in_later_bins() -> None:
    found = decode(histogram_of([1_000, 20_000_000, 20_000_001, 30_000_000], [5, 3, 2, 7]))
    assert found.beyond(bin_of(20_000_000)) == 7
    assert found.beyond(bin_of(19_000_000)) == 12
    assert found.beyond(bin_of(30_000_000)) == 0
    assert found.beyond(0) == 17


def payload(
    body: bytes, *, cookie: int = 0x1C849313, digits: int = 3, lowest: int = 1, size: int | None = None
) -> bytes:
    head = struct.pack(">iiiiqqd", cookie, len(body) if size is None else size, 0, digits, lowest, HOUR_NS, 1.0)
    squeezed = zlib.compress(head + body)
    return struct.pack(">ii", 0x1C849314, len(squeezed)) + squeezed


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (b"", "0 bytes"),
        (b"nonsense, and more of it", "24 bytes"),
        (payload(b"\x02")[:20], "20 bytes"),
        (payload(b"\x02", size=9), "bytes"),
        (payload(b"\x02", cookie=0x1C849303), "cookie"),
        (payload(b"\x02", digits=2), r"\(0, 2, 1\)"),
        (payload(b"\x02", lowest=1000), r"\(0, 3, 1000\)"),
        (payload(b"\x02\x80"), "cut"),
        (payload(b"\x80" * 8 + b"\x01"), "larger"),
    ],
)
def test_what_is_no_such_histogram_is_refused(wrong: bytes, found: str) -> None:
    with pytest.raises(TdeltaError, match=f"expected .*found .*{found}"):
        decode(wrong)
