"""Response times: exact totals, and histograms that do not grow with the number of operations."""

from __future__ import annotations

from tdelta import _native

_BUFFERED = 8192


class Recorder:
    """One thread's times by span. ``totals`` are pairs of count and ns."""

    def __init__(self, spans: int) -> None:
        self.totals = [[0, 0] for _ in range(spans)]
        self._buffers: list[list[int]] = [[] for _ in range(spans)]
        self._payloads: list[list[bytes]] = [[] for _ in range(spans)]
        self._buffered = 0

    def record(self, span: int, ns: int) -> None:
        """Record one time."""
        totals = self.totals[span]
        totals[0] += 1
        totals[1] += ns
        self._buffers[span].append(ns)
        self._buffered += 1

    def settle(self) -> None:
        """Empty the buffers if they are full. To be called between transactions: no measured time contains it."""
        if self._buffered >= _BUFFERED:
            self._flush()

    def payloads(self, span: int) -> list[bytes]:
        """The histograms of a span, each an HdrHistogram V2 compressed payload in ns."""
        self._flush()
        return self._payloads[span]

    def _flush(self) -> None:
        for span, times_ns in enumerate(self._buffers):
            if times_ns:
                made = _native.histogram_of(times_ns, [1] * len(times_ns))
                self._payloads[span] = [_native.histogram_merge([*self._payloads[span], made])]
                times_ns.clear()
        self._buffered = 0
