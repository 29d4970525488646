"""What a page's cipher costs a server: OpenSSL's floor for the cipher that was observed, and the server's own calls.

A server that makes a cipher's context anew for every page pays for each such start, beside the bytes. How many starts a
page takes is in what was observed: MariaDB's pages are no whole number of AES blocks, so CBC is followed by a start of
ECB for what is left over.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence

from tdelta.measure import measure_floor

PAGE_BYTES = 16384
_FLOOR_SECONDS = 0.8
_OBSERVED = re.compile(r"([A-Z0-9-]+) ([\d,]+) times?")
_NAME = re.compile(r"(AES-(?:128|192|256))-(CBC|CTR|GCM|XTS)")


def page_prices_of(observed: str, calls_us: Sequence[float], level: str) -> dict[str, object]:
    """Prices of a page read and written, as JSON values; empty where no cipher was observed.

    Args:
        observed: as `tdelta.driver.servers.observation.told` has it, the pages' cipher first.
        calls_us: what a start takes, of each pass.
        level: of the CPU's AES instructions.
    """
    starts = {name: int(count.replace(",", "")) for name, count in _OBSERVED.findall(observed)}
    first = next(iter(starts), "")
    match = _NAME.fullmatch(first)
    if match is None:
        return {}
    algorithm, mode = (text.lower() for text in match.groups())
    tails = starts.get(f"{match[1]}-ECB", 0) if mode == "cbc" else 0
    calls = 1 + round(tails / starts[first])
    floor = measure_floor([PAGE_BYTES], [algorithm], [mode], [level], _FLOOR_SECONDS)
    start_us = statistics.median(calls_us)
    halves = [calls * (end - start_us) for end in statistics.quantiles(calls_us, n=4, method="inclusive")[::2]]
    passes = {}
    for cell in floor.cells:
        middle, (low, high) = cell.us_per_page + calls * start_us, cell.us_per_page_quartiles
        down, up = math.hypot(cell.us_per_page - low, halves[0]), math.hypot(high - cell.us_per_page, halves[1])
        # Five values that have this median and these quartiles.
        spread = [middle - 2 * down, middle - down, middle, middle + up, middle + 2 * up]
        passes["read" if cell.direction == "decrypt" else "write"] = spread
    return {
        "page_bytes": PAGE_BYTES,
        "counted": "engine",
        "cipher": f"{algorithm}-{mode} of OpenSSL, and {calls} of the server's own starts",
        "mac": "",
        "passes": passes,
    }
