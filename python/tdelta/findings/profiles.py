"""CPU profiles: the functions that took most, plain and encrypted side by side, and their classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tdelta.document.blocks import Block, Cell, Column, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, cut, printable, signed_amount, small_amount
from tdelta.document.wording import label
from tdelta.findings.base import Kind
from tdelta.records import ClassShare, CpuProfile, FunctionClass, FunctionShare, RunResult

_SHOWN = 12
_NAME_WIDTH = 34
_FILE_WIDTH = 17

_CLASS_WORDS = {
    FunctionClass.CIPHER: "cipher",
    FunctionClass.HASH: "hashing",
    FunctionClass.CRYPTO: "cipher software, rest",
    FunctionClass.CHECKSUM: "checksums",
    FunctionClass.COMPRESSION: "compression",
    FunctionClass.DATABASE: "database",
    FunctionClass.LIBRARY: "C library",
    FunctionClass.KERNEL: "kernel",
    FunctionClass.CLIENT: "tdelta's own",
}

_NOTE = (
    "CPU time of an operation, from extra trials that perf sampled. Intervals cover the number of samples, not the"
    " variation between copies. Shares are of the whole difference."
)
_NUMBERS = ("plain", "copy", "difference")


def blocks(found: Sequence[CpuProfile], result: RunResult) -> Iterator[Block]:
    """The CPU profile of each judged condition beside its baseline's."""
    for profile in found:
        name = label(profile.condition.condition, result.settings)
        yield Paragraph(_heading(profile, name), "lead")
        yield Table(
            f"Classes of functions, {name}",
            columns(*_NUMBERS, "95%", "share"),
            [(_CLASS_WORDS[one.function_class], *_times(one), *_intervals(one)) for one in profile.classes],
            name="class",
        )
        titles = columns("file", "class", *_NUMBERS, "samples", texts=("file", "class"), more=("samples",))
        titles[0] = Column("function")
        rows = [_function_row(one) for one in profile.functions]
        yield Table(f"Functions, {name}: CPU time per operation", titles, rows, folded=True, most=_SHOWN)
    yield Paragraph(_NOTE, "note")


def _heading(profile: CpuProfile, name: str) -> str:
    plain, encrypted = profile.baseline, profile.condition
    low, high = (signed_amount(end) for end in profile.interval95)
    return (
        f"CPU profile of {name}: {small_amount(encrypted.cpu_ns)} per operation, unencrypted"
        f" {small_amount(plain.cpu_ns)}; {signed_amount(profile.difference_ns)} ({low} to {high});"
        f" {encrypted.samples:,} and {plain.samples:,} samples"
    )


def _times(one: ClassShare | FunctionShare) -> tuple[str, str, str]:
    return small_amount(one.plain_ns), small_amount(one.encrypted_ns), signed_amount(one.difference_ns)


def _intervals(one: ClassShare) -> tuple[str, str]:
    """The interval of a class's difference, and its share of the whole difference with its interval."""
    across = " to ".join(signed_amount(end) for end in one.interval95)
    if one.share is None or one.share_interval95 is None:
        return across, MISSING
    middle, low, high = (f"{100 * share:,.0f}" for share in (one.share, *one.share_interval95))
    return across, f"{middle}% ({low} to {high})".replace("-0", "0").replace("-", "−")


def _function_row(one: FunctionShare) -> tuple[str | Cell, ...]:
    return (
        Cell(function_name(one), brief=cut(printable(one.function) or "[not named]", _NAME_WIDTH)),
        Cell(one.dso, brief=cut(printable(one.dso), _FILE_WIDTH)),
        Cell(_CLASS_WORDS[one.function_class], brief=one.function_class.value),
        *_times(one),
        f"{one.plain_samples:,}, {one.encrypted_samples:,}",
    )


def function_name(one: FunctionShare) -> str:
    """A function's name; of one that its file does not name, the file."""
    return printable(one.function) or f"[not named] in {printable(one.dso)}"


KIND = Kind(CpuProfile, blocks=blocks, part="profiles", title="Where the CPU time goes")
