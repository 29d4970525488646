"""CPU profiles on the page."""

from __future__ import annotations

from tdelta.records import CpuProfile, RunResult
from tdelta.report.page.blocks import Column, Paragraph, Section, Table
from tdelta.report.page.wording import label
from tdelta.report.profiles import CLASS_WORDS, NOTE, function_name, heading, interval_text, share_text
from tdelta.report.quantities import signed_amount, small_amount

_NUMBERS = ("plain", "twin", "difference")


def profile_section(result: RunResult) -> Section | None:
    """The CPU profile of each judged condition beside its baseline's; None where the run has none."""
    if not result.of(CpuProfile):
        return None
    blocks: list[Paragraph | Table] = [Paragraph(NOTE)]
    for profile in result.of(CpuProfile):
        blocks += [Paragraph(heading(profile, result), "lead"), _classes(profile, result), _functions(profile, result)]
    return Section("profiles", "Where the CPU time goes", blocks)


def _classes(profile: CpuProfile, result: RunResult) -> Table:
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
    return Table(f"Classes of functions, {label(profile.condition.condition, result.settings)}", columns, rows)


def _functions(profile: CpuProfile, result: RunResult) -> Table:
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
    caption = f"Functions, {label(profile.condition.condition, result.settings)}: CPU time of an operation"
    return Table(caption, columns, rows, folded=True)
