"""Seeded draws, number for number those of the native load loop (crates/tdelta-core/src/draw.rs).

xoshiro256++ (Blackman and Vigna, 2019), seeded through SplitMix64 (Steele, Lea and Flood, 2014); 64 bits that wrap.
"""

from __future__ import annotations

import math

_MASK = (1 << 64) - 1
_SIGN = 1 << 63
_GOLDEN = 0x9E3779B97F4A7C15
_STREAM = 0xD6E8FEB86659FD93
_UNIT = 1.0 / (1 << 53)
_SYMBOLS = "abcdefghijklmnopqrstuvwxyz0123456789"
_SYMBOL_OF_BYTE = "".join(_SYMBOLS[(byte * 36) >> 8] for byte in range(256))


def signed(bits: int) -> int:
    """64 bits as a two's complement integer; more bits are cut off."""
    bits &= _MASK
    return bits - (1 << 64) if bits & _SIGN else bits


def mix64(z: int) -> int:
    """SplitMix64's output function, a bijective mixer of 64 bits."""
    z &= _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def permute(index: int, size: int) -> int:
    """A fixed bijection of ``0 … size - 1`` (``size`` at least 1) that scatters neighbours; ``index`` modulo ``size``.

    Four Feistel rounds on the next even number of bits, walked until they land inside (Black and Rogaway, 2002).
    """
    x = index % size
    half = max(1, -(-(size - 1).bit_length() // 2))
    mask = (1 << half) - 1
    while True:
        left, right = x >> half, x & mask
        for number in range(4):
            left, right = right, left ^ (mix64(right + (number << 40) + 0x7DE17A) & mask)
        x = (left << half) | right
        if x < size:
            return x


class Rng:
    """The generator of item ``index`` of stream ``stream`` under ``seed``."""

    __slots__ = ("_a", "_b", "_c", "_d")

    def __init__(self, seed: int, stream: int, index: int) -> None:
        state = mix64(seed + _GOLDEN) ^ mix64(stream * _STREAM + _GOLDEN * 2)
        state = mix64(state) + index * _GOLDEN
        self._a, self._b, self._c, self._d = (mix64(state + _GOLDEN * number) for number in range(1, 5))

    def bits(self) -> int:
        """64 random bits."""
        a, b, c, d = self._a, self._b, self._c, self._d
        total = (a + d) & _MASK
        result = (((total << 23) & _MASK | total >> 41) + a) & _MASK
        shifted = (b << 17) & _MASK
        c ^= a
        d ^= b
        self._b = b ^ c
        self._a = a ^ d
        self._c = c ^ shifted
        self._d = (d << 45) & _MASK | d >> 19
        return result

    def unit(self) -> float:
        """A uniform double in [0, 1)."""
        return (self.bits() >> 11) * _UNIT

    def between(self, low: int, high: int) -> int:
        """A uniform integer in ``low … high`` (Lemire's multiply-shift)."""
        span = (high - low + 1) & _MASK
        if span == 0:
            return signed(self.bits())
        return signed(low + ((self.bits() * span) >> 64))

    def gaussian(self, low: int, high: int, width: float) -> int:
        """A Gaussian on ``low … high`` as pgbench draws it: centred, standard deviation range/(2·``width``), cut."""
        while True:
            u = 1.0 - self.unit()
            v = self.unit()
            z = math.sqrt(-2.0 * math.log(u)) * math.sin(math.tau * v)
            if -width <= z < width:
                return low + int((high - low + 1) * ((z + width) / (2.0 * width)))

    def exponential(self, low: int, high: int, rate: float) -> int:
        """A truncated exponential on ``low … high`` as pgbench draws it: small values are the frequent ones."""
        cut = math.exp(-rate)
        uniform = 1.0 - self.unit()
        share = -math.log(cut + (1.0 - cut) * uniform) / rate
        return low + min(int((high - low + 1) * share), high - low)

    def zipfian(self, low: int, high: int, s: float) -> int:
        """A Zipf rank on ``low … high`` with exponent ``s``: ``low`` is the most frequent (Devroye 1986, X.6.1)."""
        n = float(high - low + 1)
        if n <= 1.0:
            return low
        b = float(2.0 ** (s - 1.0))
        while True:
            u = 1.0 - self.unit()
            v = self.unit()
            try:
                x = math.floor(float(u ** (-1.0 / (s - 1.0))))
            except OverflowError:  # infinite in Rust, and as far outside
                continue
            if not 1 <= x <= n:
                continue
            t = float((1.0 + 1.0 / x) ** (s - 1.0))
            if v * x * (t - 1.0) / (b - 1.0) <= t / b:
                return low + x - 1

    def text(self, length: int) -> str:
        """Lower-case letters and digits, ``length`` of them."""
        parts = []
        for _ in range(-(-length // 8)):
            parts += [_SYMBOL_OF_BYTE[byte] for byte in self.bits().to_bytes(8, "little")]
        return "".join(parts[:length])
