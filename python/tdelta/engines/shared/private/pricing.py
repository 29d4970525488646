"""What a page's cipher costs a server: OpenSSL's floor for the cipher that was observed, and the server's own calls.

A server that makes a cipher's context anew for every page pays for each such start, beside the bytes. How many starts
a page takes is in what was observed, or known from its source: MariaDB's pages are no whole number of AES blocks, so
CBC is followed by a start of ECB for what is left over, in MySQL by another of CBC. And a page that is decrypted is
copied, from a buffer of the server's own or into it.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence

from tdelta import _native
from tdelta.engines.servers import PriceSql
from tdelta.measure import measure_floor, price_effort

PAGE_BYTES = 16384
_FRAMES_BYTES = 1 << 20
"""What a copied page is copied into, page after page: as much as the floor walks through."""

_COPY_PASSES = 31
_OBSERVED = re.compile(r"([A-Z0-9-]+) ([\d,]+) times?")
_NAME = re.compile(r"(AES-(?:128|192|256))-(CBC|CTR|GCM|XTS)")


def page_prices_of(observed: str, calls_us: Sequence[float], level: str, probe: PriceSql) -> dict[str, object]:
    """Prices of a page read and written, as JSON values; empty where no cipher was observed.

    Args:
        observed: as `tdelta.driver.servers.observation.describe_calls` has it, the pages' cipher first.
        calls_us: what a start takes, of each pass.
        level: of the CPU's AES instructions.
        probe: what is known of the server's way with pages.
    """
    starts = {name: int(count.replace(",", "")) for name, count in _OBSERVED.findall(observed)}
    first = next(iter(starts), "")
    match = _NAME.fullmatch(first)
    if match is None:
        return {}
    algorithm, mode = (text.lower() for text in match.groups())
    tails = starts.get(f"{match[1]}-ECB", 0) if mode == "cbc" else 0
    calls = 1 + round(tails / starts[first]) if probe.starts is None else probe.starts
    floor = measure_floor([PAGE_BYTES], [algorithm], [mode], [level], price_effort.FLOOR_SECONDS)
    beside = {"write": [[calls * us for us in calls_us]]}
    beside["read"] = [*beside["write"], *([_copies_us()] if probe.is_copied else [])]
    passes = {}
    for cell in floor.cells:
        direction = "read" if cell.direction == "decrypt" else "write"
        parts = [_quartiles(part) for part in beside[direction]]
        parts.append((cell.us_per_page_quartiles[0], cell.us_per_page, cell.us_per_page_quartiles[1]))
        middle = sum(part[1] for part in parts)
        down, up = math.hypot(*(m - low for low, m, _ in parts)), math.hypot(*(high - m for _, m, high in parts))
        # Five values that have this median and these quartiles.
        passes[direction] = [middle - 2 * down, middle - down, middle, middle + up, middle + 2 * up]
    copied = "; a read page is copied once" if probe.is_copied else ""
    return {
        "page_bytes": PAGE_BYTES,
        "counted": probe.counted,
        "cipher": f"{algorithm}-{mode} of OpenSSL, and {calls} of the server's own starts{copied}",
        "mac": "",
        "passes": passes,
    }


def _copies_us() -> list[float]:
    """What a copy of a page takes, of each pass."""
    return [ns / 1e3 for ns in _native.page_copies_ns(PAGE_BYTES, _FRAMES_BYTES, _COPY_PASSES)]


def _quartiles(passes: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper one."""
    low, middle, high = statistics.quantiles(passes, n=4, method="inclusive")
    return low, middle, high
