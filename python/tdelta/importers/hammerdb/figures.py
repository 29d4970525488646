"""What HammerDB says of a run, whichever file says it: throughput, the counter, the times of the procedures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tdelta.importers.accumulating import Printed, is_possible, sd_limits
from tdelta.importers.importer import Belonging
from tdelta.importers.intervals import longest_stretch
from tdelta.importers.problems import Problems, half_unit, number, plain_name, shown, whole
from tdelta.inputs import out_of_range, unexpected
from tdelta.messages import Caution
from tdelta.records.conditions import Level
from tdelta.records.observed import Figure, Observation, Series, Summary

NEW_ORDERS = "new orders"  # the transaction that NOPM counts; TPM counts all, as the database does
_MINUTE_SECONDS = 60.0
_OF_COUNT = 0.5 / _MINUTE_SECONDS  # how NOPM and TPM, whole numbers a minute, are rounded
_RESULT = re.compile(
    r"TEST RESULT : System achieved (?:(?P<nopm>\d{1,15}) NOPM from (?P<tpm>\d{1,15}) |"
    r"(?P<old_tpm>\d{1,15}) [^\"]{1,40}? TPM at (?P<old_nopm>\d{1,15}) NOPM)",
    re.ASCII,
)
FIELDS = frozenset(
    "calls min_ms avg_ms max_ms total_ms elapsed_ms p99_ms p95_ms p75_ms p50_ms p25_ms sd ratio_pct".split()  # noqa: SIM905
)
"""Of a procedure, as HammerDB names them."""

_QUANTILES = {"p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}
_ROUNDING_MS = 0.001
_MS_PER_CLICK = (1e-7, 1e-2)
"""What a click of Tcl's clock can be: 0.1 ns to 10 µs. It is a microsecond on most machines."""
_ONE_USER = 0.02  # the ratio of one user's procedure is its share of the elapsed time, to this precision


_USERS = re.compile(r"(\d{1,6}) Active Virtual Users configured", re.ASCII)


def users_in(text: str, before: int | None) -> int | None:
    found = _USERS.search(text)
    return before if found is None else int(found[1]) or None


_MINUTES = {
    "ramp-up, min": re.compile(r"Beginning rampup time of (\d{1,6}) min", re.ASCII),
    "measured, min": re.compile(r"Timing test period of (\d{1,6}) in min", re.ASCII),
}
"""What the console says of a run before it begins."""


def settings_in(text: str, before: Mapping[str, Level]) -> Mapping[str, Level]:
    found = ((name, pattern.search(text)) for name, pattern in _MINUTES.items())
    return {**before, **{name: int(match[1]) for name, match in found if match}}


@dataclass(frozen=True, slots=True)
class Result:
    nopm: int
    tpm: int


def result_in(text: str) -> Result | None:
    """The result in a line: ``128176 NOPM from 298394 MariaDB TPM``, or ``298394 MariaDB TPM at 128176 NOPM``."""
    found = _RESULT.search(text)
    if found is None:
        return None
    return Result(int(found["nopm"] or found["old_nopm"]), int(found["tpm"] or found["old_tpm"]))


def throughput(result: Result, belonging: Belonging, line: int | None) -> Iterator[Figure]:
    """NOPM and TPM, a second. A counter that could not be read is 0, and is no figure."""
    if result.nopm:
        yield Figure(
            belonging.throughput(NEW_ORDERS), belonging.origin(line), result.nopm / _MINUTE_SECONDS, rounding=_OF_COUNT
        )
    if result.tpm:
        yield Figure(belonging.throughput(), belonging.origin(line), result.tpm / _MINUTE_SECONDS, rounding=_OF_COUNT)


def counter_series(
    readings: Sequence[tuple[datetime, float]], belonging: Belonging, line: int | None, *cautions: Caution
) -> Iterator[Series]:
    """The transaction counter (a minute) as a series of transactions per second, unless it is too short."""
    in_order = sorted(readings)
    if not in_order:
        return
    begin = in_order[0][0]
    seconds = [(at - begin).total_seconds() for at, _ in in_order]
    stretch = longest_stretch(seconds, [count / _MINUTE_SECONDS for _, count in in_order])
    if stretch is not None:
        origin, began = belonging.origin(line, *cautions, *stretch.notes), begin.replace(tzinfo=UTC).timestamp()
        yield stretch.series(belonging.throughput(), origin, began=began, rounding=_OF_COUNT)


def timestamp(found: object) -> datetime | None:
    """A time as HammerDB writes it, ``2026-05-20 07:23:06``; None for anything else."""
    try:
        return datetime.strptime(found.strip(), "%Y-%m-%d %H:%M:%S") if isinstance(found, str) else None
    except ValueError:
        return None


def procedures(
    rows: Mapping[str, Mapping[str, object]], belonging: Belonging, line: int | None, problems: Problems
) -> Iterator[Observation]:
    """The times of procedures by their names at HammerDB, ``NEWORD``.

    Of each are given ``calls``, ``min_ms``, ``avg_ms``, ``max_ms``, ``p99_ms`` …, ``sd``: numbers, or strings of them.
    """
    for name, fields in rows.items():
        named = plain_name(name)
        if named is None:
            problems.add(unexpected("the name of a procedure", shown(name)), line)
            continue
        calls = whole(fields.get("calls"))
        mean, minimum, maximum = (number(fields.get(f"{key}_ms")) for key in ("avg", "min", "max"))
        if calls is None or mean is None or minimum is None or maximum is None or mean <= 0 or minimum < 0:
            found = {key: fields.get(key) for key in ("calls", "min_ms", "avg_ms", "max_ms")}
            problems.add(unexpected(f"calls, min, avg and max of {shown(name)} as numbers", shown(found)), line)
            continue
        quantiles = {
            share: value
            for key, share in sorted(_QUANTILES.items(), key=lambda item: item[1])
            if (value := number(fields.get(f"{key}_ms"))) is not None and value >= 0
        }
        printed = Printed(calls, mean, minimum, maximum, quantiles, _ROUNDING_MS)
        if calls and not printed.is_consistent:
            between = f"between min and max ({minimum} and {maximum})"
            problems.add(out_of_range(f"avg of {shown(name)}", between, mean), line)
        elif calls:
            sd, doubts = usable_sd(number(fields.get("sd")), printed)
            origin = belonging.origin(line, *doubts, *_one_user(fields))
            rounding = half_unit(str(fields.get("avg_ms")))
            yield Summary(belonging.response_times(named), origin, calls, mean, sd, quantiles, rounding=rounding)


def usable_sd(sd: float | None, printed: Printed) -> tuple[float | None, tuple[Caution, ...]]:
    """The standard deviation if it can only be in ms, and what must be said if it cannot, or need not, be.

    Until April 2026 HammerDB printed it in clicks of a clock, whose length it does not print. The other figures bound
    it: in clicks it is usually a thousand times too large, and told from ms beyond doubt.
    """
    if sd is None or sd <= 0 or printed.count < 3:  # HammerDB writes 0 for fewer than three calls
        return None, ()
    if not is_possible(sd, printed):
        said = f"a standard deviation of {sd:g} ms"
        return None, (Caution.of("not-used", what=said, why="probably clicks (HammerDB before April 2026)"),)
    smallest, largest = sd_limits(printed)
    shortest_click, longest_click = _MS_PER_CLICK
    if sd * longest_click >= smallest and sd * shortest_click <= largest:
        said = f"a standard deviation of {sd:g}"
        return None, (Caution.of("not-used", what=said, why="ms, or clicks (HammerDB before April 2026)"),)
    return sd, ()


def _one_user(fields: Mapping[str, object]) -> tuple[Caution, ...]:
    """Until HammerDB 5.0 the summary held the last virtual user's figures; its ratio shows it."""
    total, elapsed, ratio = (number(fields.get(key)) for key in ("total_ms", "elapsed_ms", "ratio_pct"))
    if not total or not elapsed or not ratio or abs(100 * total / elapsed / ratio - 1) > _ONE_USER:
        return ()
    return (Caution.of("of-one-user"),)
