"""pgbench's logs: a row for each transaction (``-l``), or one for each interval (``--aggregate-interval``).

As ``doLog`` in ``pgbench.c`` writes them, PostgreSQL 9.3 to 19, numbers between single spaces:

- transactions: client, number, µs, script, epoch seconds, µs of the second, then lag with ``--rate`` and retries with
  ``--max-tries``: 6 to 8 columns. The time can be a word: such a row has none, and is counted;
- aggregates: start, count, sum, sum of squares, least, greatest (µs), then the same of the lag, then skipped, retried,
  retries, failures by kind: 6, 10, 11 or 15 to 16 columns, in some versions 7 to 14.

Six columns could be either. What tells them apart is where the seconds since 1970 stand: first in an aggregate, fifth
in a transaction, whose client's number never gets that high.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from tdelta.errors import ImportFault
from tdelta.importers.faults import Problems, place
from tdelta.importers.importer import Belonging, Importer
from tdelta.importers.reading import HEAD_BYTES, Source, excerpt, head_lines
from tdelta.importers.samples import LONGEST_MS, ExactSum, Gathering, Span, uneven_steps, usual_step
from tdelta.inputs import missing, too_many, unexpected
from tdelta.messages import Caution
from tdelta.records.observed import ALL, Observation, Series, Summary

MOST_INTERVALS = 1_000_000
_WORDS = frozenset(("skipped", "failed", "serialization", "deadlock", "other"))
_LOWEST_EPOCH = 10**8  # 1973; no client has this number
_HIGHEST_EPOCH = 10**11
_LINES_AT_ONCE = 16_384
_LINES_LOOKED_AT = 100
_LONGEST_NUMBER = 40


class PgbenchLog(Importer):
    name = "pgbench log"
    is_per_thread = True

    def recognizes(self, source: Source) -> bool:
        rows = _first_rows(source)
        return _most(is_transaction(row) for row in rows)

    def observations(self, source: Source, belonging: Belonging, _problems: Problems) -> Iterator[Observation]:
        gathering: Gathering[str] = Gathering(source.name, "scripts")
        without_time: Counter[str] = Counter()
        span = Span()
        rows = 0
        widest = 0
        noted: list[Caution] = []
        lines = _whole_rows(source, is_transaction, noted)
        while chunk := list(islice(lines, _LINES_AT_ONCE)):
            scripts, times = _times(chunk, source.name, without_time)
            _take_times(chunk, span)
            if times.size:
                gathering.extend(ALL, times, chunk[0][0])
            for script, part in _by_script(scripts, times):
                gathering.extend(script, part, chunk[0][0])
            rows += len(chunk)
            widest = max(widest, len(chunk[0][1].split()))
        if not len(gathering):
            raise ImportFault(missing(f"the time in all {rows} rows").at(source.name))
        noted += [
            Caution.of("transactions-untimed", count=count, rows=rows, why=word)
            for word, count in sorted(without_time.items())
        ]
        if widest == 8 or without_time["skipped"]:
            noted.append(Caution.of("times-from-due"))
        several = len(gathering) > 2
        for samples in gathering.samples(
            lambda script: belonging.response_times(ALL if script == ALL else f"script {script}"),
            belonging.origin(None, *noted),
        ):
            if several or samples.group.transaction == ALL:
                yield replace(samples, started_unix_seconds=span.begin, duration_seconds=span.seconds)


class PgbenchAggregates(Importer):
    name = "pgbench aggregate log"
    is_per_thread = True

    def recognizes(self, source: Source) -> bool:
        rows = _first_rows(source)
        return _most(is_aggregate(row) for row in rows)

    def observations(self, source: Source, belonging: Belonging, problems: Problems) -> Iterator[Observation]:
        """Throughput at each interval, and the summary of all of them: exact, since the sums are."""
        starts, counts, totals = array("d"), array("d"), array("d")
        total_us, squares_us = ExactSum(), ExactSum()
        others: Counter[str] = Counter()
        noted: list[Caution] = []
        for number, line in _whole_rows(source, is_aggregate, noted):
            row = line.split()
            if not is_aggregate(row):
                problems.add(unexpected("an interval: start, count, sum, sum of squares, …", excerpt(line)), number)
                continue
            if len(starts) >= MOST_INTERVALS:
                raise ImportFault(too_many("intervals", MOST_INTERVALS, place(source.name, number)))
            starts.append(float(row[0]))
            counts.append(float(row[1]))
            totals.append(float(row[2]))
            total_us.add(float(row[2]))
            squares_us.add(float(row[3]))
            _count_others(row, others)
        problems.raise_if_any()
        if not sum(counts):
            raise ImportFault(missing(f"a transaction in {len(starts)} intervals").at(source.name))
        noted += [Caution.of("counted", count=count, what=words) for words, count in others.items() if count]
        belonging = belonging.noting(*noted)
        found: list[Series | Summary] = [*_series(belonging, starts, counts, totals)]
        found.append(_summary(belonging, int(sum(counts)), total_us.value, squares_us.value))
        for one in found:
            lasted = starts[-1] - starts[0] + _interval(starts)
            yield replace(one, started_unix_seconds=starts[0], duration_seconds=lasted)


def is_transaction(row: Sequence[str]) -> bool:
    if not 6 <= len(row) <= 8 or not all(_is_whole(it) for it in (*row[:2], *row[3:])):
        return False
    if not (_is_whole(row[2]) or row[2] in _WORDS) or not _is_script(row[3]):
        return False
    return int(row[0]) < _LOWEST_EPOCH <= int(row[4]) < _HIGHEST_EPOCH and int(row[5]) < 10**6


def is_aggregate(row: Sequence[str]) -> bool:
    if not 6 <= len(row) <= 16 or not all(_is_whole(it) for it in row):
        return False
    start, count, total, squares, least, greatest = (int(it) for it in row[:6])
    if not _LOWEST_EPOCH <= start < _HIGHEST_EPOCH or count >= 10**12:
        return False
    if not count:
        return total == squares == least == greatest == 0
    # Sums are rounded to µs; old versions summed with less care.
    return least <= greatest and least * count * 0.99 <= total + count and total <= greatest * count * 1.01 + count


def _most(are: Iterable[bool]) -> bool:
    """Whether two in three are: a damaged row is for `read` to name, not a reason not to know the format."""
    found = list(are)
    return bool(found) and 3 * sum(found) >= 2 * len(found)


def _is_script(text: str) -> bool:
    """Whether it is the number of a script; pgbench takes 128 of them."""
    return _is_whole(text) and len(text) <= 4 and text == str(int(text))


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _LONGEST_NUMBER


def _first_rows(source: Source) -> list[list[str]]:
    lines = head_lines(source)
    if len(source.head) >= HEAD_BYTES or len(lines) > 1:
        lines.pop()  # cut off, or empty
    return [line.split() for line in lines[:_LINES_LOOKED_AT] if line.strip()]


def _whole_rows(
    source: Source, is_row: Callable[[Sequence[str]], bool], noted: list[Caution]
) -> Iterator[tuple[int, str]]:
    """Lines that are not blank; a last one that is no row was cut off, and is told instead."""
    held: tuple[int, str] | None = None
    for numbered in source.text_lines():
        if not numbered[1].strip():
            continue
        if held is not None:
            yield held
        held = numbered
    if held is not None and is_row(held[1].split()):
        yield held
    elif held is not None:
        noted.append(Caution.of("file-cut-off", line=held[0]))


def _times(
    chunk: Sequence[tuple[int, str]], file: str, without_time: Counter[str]
) -> tuple[list[str], NDArray[np.float64]]:
    """Scripts and times in ms. All rows at once where nothing is odd."""
    words = " ".join(line for _, line in chunk).split()
    columns = len(chunk[0][1].split())
    if len(words) == columns * len(chunk) and 6 <= columns <= 8:
        scripts = words[3::columns]
        try:
            times = np.array(list(map(int, words[2::columns])), dtype=np.float64)
            epochs = np.array(list(map(int, words[4::columns])), dtype=np.float64)
            clients = np.array(list(map(int, words[0::columns])), dtype=np.float64)
        except (ValueError, OverflowError):
            pass
        else:
            if (
                (epochs >= _LOWEST_EPOCH).all()
                and (epochs < _HIGHEST_EPOCH).all()
                and (clients < _LOWEST_EPOCH).all()
                and (times <= LONGEST_MS).all()
                and (times >= 0).all()
                and all(map(_is_script, dict.fromkeys(scripts)))
            ):
                return scripts, times / 1e3
    return _one_by_one(chunk, file, without_time)


def _one_by_one(
    chunk: Sequence[tuple[int, str]], file: str, without_time: Counter[str]
) -> tuple[list[str], NDArray[np.float64]]:
    """Row by row: words instead of times are counted, and what is no row is named by its line."""
    scripts: list[str] = []
    times: list[float] = []
    faults = Problems(file)
    for number, line in chunk:
        row = line.split()
        if not is_transaction(row) or (row[2] not in _WORDS and int(row[2]) > LONGEST_MS):
            faults.add(
                unexpected("a transaction: client, number, µs, script, epoch seconds, µs", excerpt(line)), number
            )
        elif row[2] in _WORDS:
            without_time[row[2]] += 1
        else:
            scripts.append(row[3])
            times.append(int(row[2]) / 1e3)
    faults.raise_if_any()
    return scripts, np.array(times, dtype=np.float64)


def _by_script(scripts: list[str], times: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.float64]]]:
    known = list(dict.fromkeys(scripts))
    if len(known) == 1:
        yield known[0], times
    elif known:
        codes = {script: code for code, script in enumerate(known)}
        numbers = np.array([codes[script] for script in scripts])
        for script, code in codes.items():
            yield script, times[numbers == code]


def _series(
    belonging: Belonging, starts: array[float], counts: array[float], totals_us: array[float]
) -> Iterator[Series]:
    interval = _interval(starts)
    origin = belonging.origin(None, *uneven_steps(starts, interval))
    yield Series(belonging.throughput(), origin, interval, tuple(count / interval for count in counts))
    means = tuple(total / count / 1e3 if count else 0.0 for total, count in zip(totals_us, counts, strict=True))
    yield Series(belonging.response_times(), origin, interval, means, counts=tuple(counts))


def _interval(starts: array[float]) -> float:
    """Seconds between two intervals' starts; 1 where only one is there, or the clock stood still."""
    found = usual_step(starts, alone=1.0)
    return found if found > 0 else 1.0


def _take_times(chunk: Sequence[tuple[int, str]], span: Span) -> None:
    """Rows are in time order but for what clients of one thread do side by side."""
    for _, line in (chunk[0], chunk[-1]):
        row = line.split()
        if is_transaction(row):
            span.take(int(row[4]) + int(row[5]) / 1e6)


def _summary(belonging: Belonging, count: int, total_us: float, squares_us: float) -> Summary:
    mean_us = total_us / count
    variance = (squares_us - count * mean_us**2) / (count - 1) if count > 1 else 0.0
    if variance < -1e-6 * mean_us**2 or mean_us / 1e3 > LONGEST_MS:
        raise ImportFault(
            unexpected(
                "sums of squares that fit the sums",
                f"a mean of {mean_us:g} µs and a mean square of {squares_us / count:g}",
                belonging.file,
            )
        )
    sd = math.sqrt(max(0.0, variance)) / 1e3 if count > 1 else None
    return Summary(belonging.response_times(), belonging.origin(), count, mean_us / 1e3, sd)


def _count_others(row: Sequence[str], others: Counter[str]) -> None:
    """Skipped transactions and failures: fixed places in rows of 15 and 16 columns, and the 11th column before."""
    if len(row) in (11, 15, 16):
        others["transactions were skipped"] += int(row[10])
    if len(row) in (15, 16):
        others["transactions failed"] += sum(int(it) for it in row[13:])
