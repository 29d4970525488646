"""The parts of the page after the answer, each from the run's data to a `Section`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tdelta.document.blocks import Block, Column, Figure, Paragraph, Section, Table, columns, headed
from tdelta.document.effect import limits
from tdelta.document.forest import Row, forest, limits_of, verdict_row
from tdelta.document.labels import kind_label, listed, metric_name, sides_of, surroundings
from tdelta.document.quantities import MINUS, interval_of, share, small_share
from tdelta.document.wording import (
    UNRELIABLE,
    chance,
    decided,
    has_amount,
    is_invalid,
    label,
    limit_words,
    median_text,
    verdict_cells,
)
from tdelta.findings import placed
from tdelta.records import (
    Estimate,
    Metric,
    Role,
    RunResult,
    Verdict,
)
from tdelta.report.details import caution_blocks, values_note
from tdelta.report.outcome import shown_ratio
from tdelta.report.page.figures.differences import differences
from tdelta.report.page.figures.latency import TAILS, latency_curves
from tdelta.report.page.figures.resources import pressure_table, resource_tables, resource_values
from tdelta.report.page.figures.sweep import sweep_figure
from tdelta.report.page.gather import RunData

_ALL = "all"
_TOLERANCE = 2e-3
_MANY_ROWS = 40
_LONG_TABLE = 12


def confidence_section(data: RunData) -> Section | None:
    """How much of each posterior is above, within and below the tolerance; None where nothing was measured."""
    result = data.result
    found = [verdict for verdict in result.primary if has_amount(verdict)]
    if not found:
        return None
    bounds, tolerance = limits(result.settings), result.settings.tolerance
    rows = [
        (
            label(verdict.condition, result.settings)
            + ("" if shown_ratio(verdict, result) is verdict.ratio else ", whole trials"),
            median_text(verdict.ratio, bounds),
            *(interval_of(verdict.ratio, ends, bounds) for ends in (verdict.ratio.hdi95, verdict.ratio.hdi99)),
            chance(verdict.ratio.mass_above_tolerance),
            chance(verdict.ratio.mass_in_tolerance),
            chance(verdict.ratio.mass_below_tolerance),
        )
        for verdict in found
    ]
    limit = share(tolerance)
    titles = (
        "overhead",
        "95% interval",
        "99% interval",
        f"above +{limit}",
        f"within ±{limit}",
        f"below {MINUS}{limit}",
    )
    table = Table("Probability that the overhead is above, within and below the tolerance", columns(*titles), rows)
    alarm: list[Block] = [Paragraph(UNRELIABLE, "alarm")] if is_invalid(result) else []
    return Section("confidence", "Confidence", [*alarm, table, *placed("confidence", result)])


def estimates_of(result: RunResult) -> dict[str, Estimate]:
    found = {v.condition.key: v.ratio for v in result.primary if has_amount(v)}
    for condition in result.settings.conditions:
        for noise in result.noise_floor:
            is_own = noise.stratum == condition.stratum and noise.metric is result.settings.metric
            if condition.role is Role.AA and is_own and noise.condition is None:
                found[condition.key] = noise.ratio
    return found


def differences_section(data: RunData) -> Section:
    blocks: list[Block] = [
        Paragraph(
            "In each block all configurations do the same work in random order, close together in time, so that drift"
            " cancels. Each round creates new databases: differences between rounds show the effect of data layout and"
            " start-up."
        )
    ]
    if data.pairs:
        blocks.append(differences(data.pairs, estimates_of(data.result), data.result.settings))
    else:
        blocks.append(Paragraph("No complete block was measured.", "note"))
    return Section("differences", "Stability", blocks)


def latency_section(data: RunData) -> Section:
    figure = latency_curves(data.latencies, data.result.settings)
    shown: list[Block] = [figure] if figure else [Paragraph("No response times are stored for this run.", "note")]
    return Section("latency", "Response times", [Paragraph(TAILS), *shown, *placed("latency", data.result)])


def resource_section(data: RunData) -> Section:
    """Where the cost is: CPU, I/O, cache, and what a page cost."""
    result = data.result
    blocks: list[Block] = [*_metric_forest(result)]
    values = resource_values(data.trials, result.settings)
    blocks += resource_tables(values, result.settings)
    return Section("resources", "CPU, I/O and cache", [*blocks, *placed("resources", result)])


def _metric_forest(result: RunResult) -> Iterator[Block]:
    found = [v for v in result.verdicts if v.transaction == _ALL and not v.primary]
    if not found:
        return
    settings = result.settings
    yield forest(
        "metrics",
        "Other costs per operation",
        _grouped(found, lambda v: metric_name(v.metric, settings), lambda v: label(v.condition, settings)),
        limits_of(result.settings, is_primary=False),
        axis=f"compared with {sides_of(result.settings).copies}",
        caption=(
            "Informational; the verdict is based on"
            f" {metric_name(result.settings.metric, result.settings)}. Circle: best estimate; thick bar: 95% interval;"
            " thin bar: 99% interval."
        ),
        noted="verdict",
    )


def _grouped(found: Sequence[Verdict], group: Callable[[Verdict], str], name: Callable[[Verdict], str]) -> list[Row]:
    """A row for each group of verdicts, and its verdicts below it; of a single condition each group is one row."""
    if len({v.condition.key for v in found}) == 1:
        return [verdict_row(v, group(v)) for v in found]
    rows: list[Row] = []
    for title in dict.fromkeys(map(group, found)):
        rows += [Row(title), *(verdict_row(v, name(v)) for v in found if group(v) == title)]
    return rows


def sweep_section(result: RunResult) -> Section | None:
    """Overheads against threads; None where threads do not vary."""
    settings = result.settings
    what = metric_name(settings.metric, settings)
    figure = sweep_figure(result, limits_of(settings), what, limit_words(settings))
    if figure is None:
        return None
    lead = Paragraph(
        "The same work with an increasing number of threads. If they wait for a disk or a lock, the cost of encryption"
        " disappears in the waiting; if the CPU is saturated, all of it is visible."
    )
    alarm: list[Block] = [Paragraph(UNRELIABLE, "alarm")] if is_invalid(result) else []
    return Section("sweep", "Threads", [*alarm, lead, figure])


def transaction_section(data: RunData) -> Section | None:
    """Each transaction type, partially pooled; None where the workload has one type only."""
    result = data.result
    found = [v for v in result.verdicts if v.transaction != _ALL and v.metric is Metric.RESPONSE_TIME]
    if not found:
        return None
    lead = Paragraph(
        "Response time of each transaction type, partially pooled: estimates of rare types are pulled towards the"
        " others. Informational; does not affect the verdict."
    )
    figures = [_type_forest(name, place, part, result) for name, place, part in _parts(found, result)]
    return Section("transactions", "By transaction type", [lead, *figures, _type_table(found, result)])


def _parts(found: list[Verdict], result: RunResult) -> list[tuple[str, str, list[Verdict]]]:
    """All in one figure, or where that would be long one for each stratum: each with its name, place and verdicts."""
    if len(found) <= _MANY_ROWS:
        return [("transactions", "", found)]
    parts = []
    for stratum in dict.fromkeys(v.condition.stratum for v in found):
        of_stratum = [v for v in found if v.condition.stratum == stratum]
        place = ", ".join(surroundings(of_stratum[0].condition, result.settings))
        parts.append((f"transactions-{stratum}", place, of_stratum))
    return parts


def _type_forest(name: str, place: str, found: list[Verdict], result: RunResult) -> Figure:
    naming = kind_label if place else label  # the figure's title has the place of all of them
    return forest(
        name,
        f"Overhead in response time, by transaction type{f': {place}' if place else ''}",
        _grouped(found, lambda v: v.transaction, lambda v: naming(v.condition, result.settings)),
        limits_of(result.settings, is_primary=False),
        axis=f"response time, compared with {sides_of(result.settings).copies}",
        caption="Circle: best estimate after partial pooling; thick bar: 95% interval; thin bar: 99% interval.",
        noted="verdict",
    )


def _type_table(found: list[Verdict], result: RunResult) -> Table:
    bounds = limits(result.settings)
    rows = []
    for verdict in found:
        (plain, encrypted), (changed, ends) = verdict_cells(verdict, bounds)
        name = f"{verdict.transaction}, {label(verdict.condition, result.settings)}"
        rows.append((name, plain, encrypted, changed, ends, decided(verdict)))
    titles = (*sides_of(result.settings).titles, "overhead", "95% interval")
    columns = [Column(""), *(Column(title, is_number=True) for title in titles), Column("verdict")]
    return Table(
        values_note(result.settings).removesuffix("."),
        columns,
        rows,
        folded=len(rows) > _LONG_TABLE,
    )


def trust_section(data: RunData) -> Section:
    result = data.result
    nothing = "" if result.settings.compares_builds else "This run did not search its files for plaintext. "
    blocks: list[Block] = [
        *(tuple(placed("trust", result)) or (Paragraph(f"{nothing}The checks below show what is known.", "note"),)),
        *headed("Checks", listed(result.validity), "checks"),
        *(caution_blocks(result) if result.cautions else [Paragraph("No caution was raised.", "note")]),
        Paragraph(
            f"tdelta's own loop uses {small_share(result.loop.client_overhead_share)} of the measured time; overheads"
            " are underestimated by that share.",
            "note",
        ),
        *placed("settings", result),
    ]
    pressure = pressure_table(data.trials)
    blocks += [pressure] if pressure else []
    return Section("trust", "Checks and cautions", blocks)
