"""CPU profiles: the functions that took most, plain and encrypted side by side, and their classes."""

from __future__ import annotations

from tdelta.document.blocks import Block, Cell, Column, Paragraph, Table, columns
from tdelta.document.quantities import MISSING, cut, printable, signed_amount, small_amount
from tdelta.document.wording import label
from tdelta.records import ClassShare, CpuProfile, FunctionClass, FunctionShare, RunResult

FUNCTIONS_SHOWN = 12
_NAME_WIDTH = 34
_FILE_WIDTH = 17

CLASS_WORDS = {
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

NOTE = (
    "CPU time of an operation, out of trials that perf sampled and that count for nothing else. Intervals know of the"
    " number of samples alone, not of the effects of these instances; a share is of the whole difference."
)


def blocks(result: RunResult) -> list[Block]:
    """The CPU profile of each judged condition beside its baseline's; nothing where the run has none."""
    shown: list[Block] = []
    for profile in result.of(CpuProfile):
        name = label(profile.condition.condition, result.settings)
        shown += [
            Paragraph(heading(profile, result), "lead"),
            _class_table(profile, name),
            _function_table(profile, name),
        ]
    return [*shown, Paragraph(NOTE, "note")] if shown else []


def heading(profile: CpuProfile, result: RunResult) -> str:
    plain, encrypted = profile.baseline, profile.condition
    low, high = (signed_amount(end) for end in profile.interval95)
    return (
        f"CPU profile of {label(encrypted.condition, result.settings)}: {small_amount(encrypted.cpu_ns)} an"
        f" operation, plain {small_amount(plain.cpu_ns)}; {signed_amount(profile.difference_ns)} ({low} … {high});"
        f" {encrypted.samples:,} and {plain.samples:,} samples"
    )


def function_name(one: FunctionShare) -> str:
    """A function's name; of one that its file does not name, the file."""
    return printable(one.function) or f"[not named] in {printable(one.dso)}"


def share_text(one: ClassShare) -> str:
    """A class's share of the difference with its interval, in per cent."""
    if one.share is None or one.share_interval95 is None:
        return MISSING
    low, high = one.share_interval95
    return f"{_per_cent(one.share)}% ({_per_cent(low)} … {_per_cent(high)})"


def interval_text(one: ClassShare) -> str:
    low, high = (signed_amount(end) for end in one.interval95)
    return f"{low} … {high}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f}".replace("-", "−").replace("−0", "0") if abs(share) < 0.1 else _whole(100 * share)


def _whole(value: float) -> str:
    return f"{value:,.0f}".replace("-", "−")


_NUMBERS = ("plain", "twin", "difference")


def _class_table(profile: CpuProfile, name: str) -> Table:
    rows = [
        (
            CLASS_WORDS[one.function_class],
            small_amount(one.plain_ns),
            small_amount(one.encrypted_ns),
            signed_amount(one.difference_ns),
            interval_text(one),
            share_text(one),
        )
        for one in profile.classes
    ]
    return Table(f"Classes of functions, {name}", columns(*_NUMBERS, "95%", "share"), rows, name="class")


def _function_table(profile: CpuProfile, name: str) -> Table:
    rows = [
        (
            Cell(function_name(one), brief=cut(printable(one.function) or "[not named]", _NAME_WIDTH)),
            Cell(one.dso, brief=cut(printable(one.dso), _FILE_WIDTH)),
            Cell(CLASS_WORDS[one.function_class], brief=one.function_class.value),
            small_amount(one.plain_ns),
            small_amount(one.encrypted_ns),
            signed_amount(one.difference_ns),
            f"{one.plain_samples:,}, {one.encrypted_samples:,}",
        )
        for one in profile.functions
    ]
    titles = columns("file", "class", *_NUMBERS, "samples", texts=("file", "class"), more=("samples",))
    titles[0] = Column("function")
    caption = f"Functions, {name}: CPU time per operation"
    return Table(caption, titles, rows, folded=True, most=FUNCTIONS_SHOWN)
