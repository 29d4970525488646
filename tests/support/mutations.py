"""Files as accidents and strangers leave them: small, seeded mutations of good ones.

Bits and bytes change, files are cut off, lines come twice or not at all, pieces of another file get in, numbers become
huge, negative, ``nan`` or empty, text becomes another encoding. Several mutations may meet in one file; some files are
packed, cut off while packed, or damaged while packed.
"""

import gzip
import random
import re
from collections.abc import Callable

_NUMBER = re.compile(rb"\d+(?:\.\d+)?")
_NUMBERS = (
    (
        "0 -0 -1 1 1.5 nan NaN inf -inf 1e308 -1e308 1e309 1e-320 99999999999999999999999999 0x10 1_000 1,5 1.2.3"
        " 18446744073709551616 -9223372036854775809 1795320675 1e5 % ٣ ² + - ."
    )
    .encode()
    .split()
)
_BYTES = (
    b"\0",
    b"\xff",
    b"\xfe\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b"\x1b[2J",
    b'"',
    b",",
    b";",
)
_LONGEST = 100_000

Mutation = Callable[[random.Random, bytes, bytes], bytes]


def mutated(draw: random.Random, good: bytes, other: bytes) -> bytes:
    """One file after one to five accidents; ``other`` is where foreign pieces come from."""
    content = good
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        content = draw.choice(MUTATIONS)(draw, content, other)[:_LONGEST]
    return _packed(draw, content) if draw.random() < 0.05 else content


def _flip_bits(draw: random.Random, content: bytes, _: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 2, 8))):
        if changed:
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut_off(draw: random.Random, content: bytes, _: bytes) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _cut_out(draw: random.Random, content: bytes, _: bytes) -> bytes:
    start, end = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[end:]


def _splice(draw: random.Random, content: bytes, other: bytes) -> bytes:
    start, end = sorted(draw.randrange(len(other) + 1) for _ in range(2))
    at = draw.randrange(len(content) + 1)
    return content[:at] + other[start:end] + content[at:]


def _lines_of_both(draw: random.Random, content: bytes, other: bytes) -> bytes:
    lines = content.split(b"\n") + other.split(b"\n")
    draw.shuffle(lines)
    return b"\n".join(lines)


def _repeat_lines(draw: random.Random, content: bytes, _: bytes) -> bytes:
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    return b"\n".join(lines[:at] + [lines[at]] * draw.choice((2, 3, 50, 2000)) + lines[at + 1 :])


def _drop_lines(draw: random.Random, content: bytes, _: bytes) -> bytes:
    return b"\n".join(line for line in content.split(b"\n") if draw.random() > 0.2)


def _swap_lines(draw: random.Random, content: bytes, _: bytes) -> bytes:
    lines = content.split(b"\n")
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _another_number(draw: random.Random, content: bytes, _: bytes) -> bytes:
    found = list(_NUMBER.finditer(content))
    if not found:
        return content
    chosen = draw.choice(found)
    new = draw.choice(_NUMBERS) if draw.random() < 0.8 else b"9" * draw.choice((20, 400, 5000))
    return content[: chosen.start()] + new + content[chosen.end() :]


def _all_numbers(draw: random.Random, content: bytes, _: bytes) -> bytes:
    new = draw.choice(_NUMBERS)
    return _NUMBER.sub(lambda match: new if draw.random() < 0.5 else match[0], content)


def _insert_bytes(draw: random.Random, content: bytes, _: bytes) -> bytes:
    at = draw.randrange(len(content) + 1)
    return content[:at] + draw.choice(_BYTES) * draw.choice((1, 1, 3, 5000)) + content[at:]


def _another_encoding(draw: random.Random, content: bytes, _: bytes) -> bytes:
    return content.decode("utf-8", "replace").encode(
        draw.choice(("utf-16", "utf-16-le", "latin-1", "utf-8-sig")), "replace"
    )


def _other_ends(draw: random.Random, content: bytes, _: bytes) -> bytes:
    return content.replace(b"\n", draw.choice((b"\r\n", b"\r", b"", b"\n\n", b"\x0b")))


def _other_signs(draw: random.Random, content: bytes, _: bytes) -> bytes:
    old, new = draw.sample((b",", b";", b"\t", b" ", b".", b'"', b"=", b":", b"<", b"{", b"-"), 2)
    return content.replace(old, new)


def _grow(draw: random.Random, content: bytes, _: bytes) -> bytes:
    return content * draw.choice((2, 3, 20))


def _packed(draw: random.Random, content: bytes) -> bytes:
    packed = gzip.compress(content, 1)
    return draw.choice(
        (lambda: packed, lambda: packed[: draw.randrange(2, len(packed))], lambda: _flip_bits(draw, packed, b""))
    )()


MUTATIONS: tuple[Mutation, ...] = (
    _flip_bits,
    _cut_off,
    _cut_out,
    _splice,
    _lines_of_both,
    _repeat_lines,
    _drop_lines,
    _swap_lines,
    _another_number,
    _another_number,
    _all_numbers,
    _insert_bytes,
    _another_encoding,
    _other_ends,
    _other_signs,
    _grow,
)
