"""CPU profiles: the functions that took most, plain and encrypted side by side, and their classes."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from tdelta.records import ClassShare, CpuProfile, FunctionClass, FunctionShare, RunResult
from tdelta.report.drawing import paragraph, plain_table
from tdelta.report.labels import condition_label
from tdelta.report.page.blocks import Block, Column, Paragraph
from tdelta.report.page.blocks import Table as PageTable
from tdelta.report.page.wording import label
from tdelta.report.quantities import MISSING, cut, printable, signed_amount, small_amount

FUNCTIONS_SHOWN = 12
_NAME_WIDTH = 34
_WIDE = 100

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


def text(result: RunResult, width: int) -> list[Text | Table]:
    """The CPU profiles of a run; nothing where it has none."""
    lines: list[Text | Table] = []
    for profile in result.of(CpuProfile):
        lines += [*paragraph(heading(profile, result), width, "bold"), _functions(profile, width), Text()]
        lines += [_classes(profile), Text()]
    return [*lines, *paragraph(NOTE, width, "dim")] if lines else []


def heading(profile: CpuProfile, result: RunResult) -> str:
    plain, encrypted = profile.baseline, profile.condition
    low, high = (signed_amount(end) for end in profile.interval95)
    return (
        f"CPU profile of {condition_label(encrypted.condition, result.settings)}: {small_amount(encrypted.cpu_ns)} an"
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
    return f"{_per_cent(one.share)} % ({_per_cent(low)} … {_per_cent(high)})"


def interval_text(one: ClassShare) -> str:
    low, high = (signed_amount(end) for end in one.interval95)
    return f"{low} … {high}"


def _per_cent(share: float) -> str:
    return f"{100 * share:.0f}".replace("-", "−").replace("−0", "0") if abs(share) < 0.1 else _whole(100 * share)


def _whole(value: float) -> str:
    return f"{value:,.0f}".replace("-", "−")


def _functions(profile: CpuProfile, width: int) -> Table:
    table = plain_table(
        (("function", False), ("file", False), ("class", False), *((n, True) for n in ("plain", "twin", "difference")))
    )
    table.padding = (0, 1, 0, 0)
    room = _NAME_WIDTH if width >= _WIDE else _NAME_WIDTH - 14
    for one in profile.functions[:FUNCTIONS_SHOWN]:
        table.add_row(
            cut(printable(one.function) or "[not named]", room),
            cut(printable(one.dso), room // 2),
            one.function_class.value,
            small_amount(one.plain_ns),
            small_amount(one.encrypted_ns),
            signed_amount(one.difference_ns),
        )
    return table


def _classes(profile: CpuProfile) -> Table:
    headings = ("plain", "twin", "difference", "95 %", "share")
    table = plain_table((("class", False), *((name, True) for name in headings)))
    table.padding = (0, 1, 0, 0)
    for one in profile.classes:
        table.add_row(
            CLASS_WORDS[one.function_class],
            small_amount(one.plain_ns),
            small_amount(one.encrypted_ns),
            signed_amount(one.difference_ns),
            interval_text(one),
            share_text(one),
        )
    return table


_NUMBERS = ("plain", "twin", "difference")


def blocks(result: RunResult) -> list[Block]:
    """The CPU profile of each judged condition beside its baseline's; None where the run has none."""
    if not result.of(CpuProfile):
        return []
    shown: list[Block] = [Paragraph(NOTE)]
    for profile in result.of(CpuProfile):
        shown += [
            Paragraph(heading(profile, result), "lead"),
            _class_table(profile, result),
            _function_table(profile, result),
        ]
    return shown


def _class_table(profile: CpuProfile, result: RunResult) -> PageTable:
    titles = (*_NUMBERS, "95 % of the difference", "share of the difference")
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
    columns = [Column("class of functions"), *(Column(title, is_number=True) for title in titles)]
    return PageTable(f"Classes of functions, {label(profile.condition.condition, result.settings)}", columns, rows)


def _function_table(profile: CpuProfile, result: RunResult) -> PageTable:
    rows = [
        (
            function_name(one),
            one.dso,
            CLASS_WORDS[one.function_class],
            small_amount(one.plain_ns),
            small_amount(one.encrypted_ns),
            signed_amount(one.difference_ns),
            f"{one.plain_samples:,}, {one.encrypted_samples:,}",
        )
        for one in profile.functions
    ]
    columns = [Column("function"), Column("file"), Column("class")]
    columns += [Column(title, is_number=True) for title in (*_NUMBERS, "samples")]
    caption = f"Functions, {label(profile.condition.condition, result.settings)}: CPU time per operation"
    return PageTable(caption, columns, rows, folded=True)
