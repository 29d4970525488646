"""``tdelta cipher-cost``: what AES costs on this CPU, page by page, without a database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from tdelta.cli.help import Command
from tdelta.cli.output import drawn_progress, show
from tdelta.cli.units import Typed
from tdelta.design.factors import page_bytes
from tdelta.messages import Refusal
from tdelta.session.values import Duration, Value


@dataclass(frozen=True)
class PageSizes(Value):
    """``4k,16k`` as bytes, in the order typed."""

    metavar: str = "SIZE,…"

    def _read(self, text: str) -> tuple[int, ...]:
        sizes = {word.strip(): page_bytes(word.strip()) for word in text.split(",")}
        if wrong := ", ".join(repr(word) for word, size in sizes.items() if size is None):
            raise ValueError(Refusal.of("unexpected", expected="page sizes such as 4k,64KiB", found=wrong))
        return tuple(size for size in sizes.values() if size is not None)


@dataclass(frozen=True)
class Names(Value):
    """``cbc,gcm`` as names in small letters, in the order typed; which there are is for the measurement to say."""

    EXPECTED = "names with commas"
    metavar: str = "NAME,…"

    def _read(self, text: str) -> tuple[str, ...]:
        names = tuple(word.strip().lower() for word in text.split(","))
        if not all(names):
            raise ValueError
        return names


@click.command(cls=Command)
@click.option("--sizes", type=Typed(PageSizes()), help="Page sizes to encrypt.  [4k,8k,16k,256k]")
@click.option(
    "--algorithms",
    type=Typed(Names()),
    help="aes-128, aes-192, aes-256, hmac-sha1, hmac-sha256, hmac-sha512.  [all]",
)
@click.option("--modes", type=Typed(Names()), help="Modes of the AES algorithms: cbc, ctr, gcm, xts.  [all]")
@click.option(
    "--max-time", "seconds", type=Typed(Duration()), help="Wall clock; three passes are made in any case.  [20s]"
)
@click.option(
    "--library", type=click.Path(path_type=Path), metavar="FILE", help="The libcrypto to measure.  [the machine's]"
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Random seed of keys, pages and order.  [drawn]"
)
@click.option("--json", "as_json", is_flag=True, help="Print every figure as JSON (docs/json.md).")
def cipher_cost(as_json: bool, library: Path | None, **given: object) -> None:
    """Measure what AES and HMAC cost on this CPU, for each cipher, mode and page size.

    The machine's own OpenSSL does the work, once with the CPU's AES instructions and once without. A database
    pays at least this for a page: see docs/how-it-works.md.

    Example: tdelta cipher-cost --sizes 4k,16k
    """
    from tdelta.measure.cipher_cost import measure_cipher_cost
    from tdelta.report.cipher_cost import cipher_cost_blocks, cipher_cost_document

    chosen = {name: value for name, value in given.items() if value is not None}
    path = None if library is None else str(library)
    with drawn_progress() as observer:
        found = measure_cipher_cost(observe=observer, library=path, **chosen)  # type: ignore[arg-type]
    show(cipher_cost_blocks(found), cipher_cost_document(found), as_json=as_json)
