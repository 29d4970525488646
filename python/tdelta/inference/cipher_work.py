"""Encrypted twins whose trials gave the cipher next to nothing to do: what they cost says nothing about encryption.

A workload that fits into the cache neither reads nor writes pages, so nothing is decrypted or encrypted, whatever the
verdict is called. What passed the cipher is counted in pages: those that the engine says it read and wrote, and its log
in units of a page where the log is encrypted; of an embedded engine that counts no pages, the bytes it asked for.
Nothing is said of a twin that wrote temporary files and may encrypt them, since servers do not count their pages.

A twin is named where at `A_PAGE_AT_MOST_US` a page all of that would be less than `TOO_LITTLE` of its response time,
and, where pages are counted, there were fewer than `FEWEST_PAGES` per operation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tdelta.design.factors import WORKLOAD_WORKS
from tdelta.messages import Caution, Reason
from tdelta.messages.catalogue import DIRECTIONS, WITHOUT_AMOUNT
from tdelta.records import Condition, Decision, Measurement, RunSettings, Trial, Verdict
from tdelta.records.trials import TEMPORARY, by_condition

FEWEST_PAGES = 0.05  # pages per operation below which a cost per page would be all noise

A_PAGE_AT_MOST_US = 100.0
"""More than any engine was seen to take for a page with the CPU's AES instructions (docs/how-it-works.md)."""

TOO_LITTLE = 0.005  # the share of the response time: a quarter of the default tolerance

_MOVED = (("cache_misses", "cache_writes"), ("pages_read", "pages_written"))
"""Counters of pages: of SQLite's caches, of servers' buffer pools."""

_OPEN = frozenset({Decision.UNDECIDED, Decision.NEGLIGIBLE, Decision.WITHIN})
_PAGE_BYTES = 16384
_LOGS = ("log_bytes", "binlog_bytes")
_NOT_THE_LOG = "data"
_WITHOUT_TEMPORARY = (_NOT_THE_LOG, "+log", "+binlog")


def barely_encrypted(trials: Iterable[Trial], settings: RunSettings) -> dict[str, float]:
    """Pages per operation that passed the cipher, by the keys of the conditions where that was next to nothing."""
    by_key = by_condition(trial for trial in trials if trial.measurement.operations > 0)
    # A backup or a restart takes as long as it takes, whether pages are decrypted or copied as they are.
    works = {c.key: c.get("work", WORKLOAD_WORKS[0]) for c in _encrypted(settings)}
    measured = [c for c in _encrypted(settings) if c.key in by_key and works[c.key] in WORKLOAD_WORKS]
    moved = {
        c.key: _pages(by_key[c.key], has_log=_scope(c, settings) != _NOT_THE_LOG)
        for c in measured
        if not _may_encrypt_temporary(by_key[c.key], _scope(c, settings))
    }
    return {key: pages for key, pages in moved.items() if pages is not None and _is_little(pages, by_key[key])}


def idle_cipher_caution(found: Mapping[str, float], settings: RunSettings) -> Caution:
    cache = "a smaller cache of the servers" if settings.external_servers is not None else "a smaller --cache"
    data = "" if settings.database is not None else " or a larger --size"
    pages, remedy = max(found.values()), f"use {cache}{data}"
    if _is_whole_run(found, settings):
        return Caution.of("barely-encrypted", pages=pages, remedy=remedy)
    return Caution.of("conditions-barely-encrypted", conditions=", ".join(found), pages=pages, remedy=remedy)


def unexplained_cautions(verdicts: Iterable[Verdict], found: Mapping[str, float]) -> Iterator[Caution]:
    """Of every primary verdict whose interval is beyond what the few pages can cost."""
    for verdict in verdicts:
        key = verdict.condition.key
        if verdict.primary and key in found and verdict.decision is not Decision.INVALID and is_beyond(verdict):
            yield Caution.of("not-by-pages", condition=key, pages=found[key])


def with_cached(
    verdicts: Iterable[Verdict], found: Mapping[str, float], settings: RunSettings, own_caches: Collection[str]
) -> Iterator[Verdict]:
    """The same verdicts, those on conditions that encrypted next to nothing by what that bounds.

    With a cache that the user chose, that is an answer: the overhead is below `TOO_LITTLE`, unless the measured
    interval is beyond that, for another reason than encryption, or too little was measured. A run with a default
    cache that encrypted nothing has no answer. A measured difference remains in either case. ``found`` is what
    `barely_encrypted` found, ``own_caches`` the keys of conditions with such a cache.
    """
    limit = settings.tolerance if settings.budget is None else settings.budget
    whole = _is_whole_run(found, settings)
    for verdict in verdicts:
        key, decision = verdict.condition.key, verdict.decision
        is_idle = verdict.primary and key in found and decision in _OPEN
        is_left_open = decision is Decision.UNDECIDED and is_beyond(verdict)
        if is_idle and key in own_caches:
            if limit >= TOO_LITTLE and is_bounded(verdict):
                reason = Reason.of("cached", pages=found[key], page_us=A_PAGE_AT_MOST_US, most=TOO_LITTLE)
                decision = Decision.NEGLIGIBLE if settings.budget is None else Decision.WITHIN
                verdict = replace(verdict, decision=decision, reasons=(*verdict.reasons, reason))
        elif is_idle and whole and not is_left_open:
            reasons = (*verdict.reasons, Reason.of("nothing-encrypted"))
            verdict = replace(verdict, decision=Decision.UNDECIDED, reasons=reasons)
        yield verdict


def is_bounded(verdict: Verdict) -> bool:
    """Whether the pages bound the overhead: enough was measured, and nothing that they cannot explain."""
    is_short = any(reason.code in DIRECTIONS | WITHOUT_AMOUNT for reason in verdict.reasons)
    return not is_short and not is_beyond(verdict)


def is_beyond(verdict: Verdict) -> bool:
    """Whether the 95% interval is beyond what so few pages can cost."""
    low, high = verdict.ratio.hdi95
    return low > 1.0 + TOO_LITTLE or high < 1.0 - TOO_LITTLE


def _is_whole_run(found: Mapping[str, float], settings: RunSettings) -> bool:
    """Whether no encrypted condition of the run had anything to encrypt."""
    return bool(found) and all(condition.key in found for condition in _encrypted(settings))


def _encrypted(settings: RunSettings) -> list[Condition]:
    return [condition for condition in settings.conditions if condition.is_encrypted]


def _scope(condition: Condition, settings: RunSettings) -> object:
    return condition.get("scope", settings.options.get("scope"))


def _may_encrypt_temporary(measured: Sequence[Measurement], scope: object) -> bool:
    """Whether trials wrote temporary files under a scope that may cover them: no counter of pages has those."""
    wrote = any(m.engine_counters.get(name, 0) > 0 for m in measured for name in TEMPORARY)
    return wrote and scope not in _WITHOUT_TEMPORARY


def _pages(measured: Sequence[Measurement], *, has_log: bool) -> float | None:
    operations = sum(m.counted_operations for m in measured)
    names = _counted(measured)
    if names:
        pages = sum(m.engine_counters.get(name, 0) for m in measured for name in names)
        logged = sum(m.engine_counters.get(name, 0) for m in measured for name in _LOGS) if has_log else 0
        return (pages + logged / _PAGE_BYTES) / operations
    if any(m.client_cpu_seconds > 0 for m in measured):  # a server, whose bytes may be out of sight
        return None
    return sum(m.usage.syscall_read_bytes + m.usage.syscall_written_bytes for m in measured) / _PAGE_BYTES / operations


def _is_little(pages: float, measured: Sequence[Measurement]) -> bool:
    operations = sum(m.operations for m in measured)
    response_us = sum(m.response_ns * m.operations for m in measured) / operations / 1e3
    is_counted = bool(_counted(measured))
    return pages * A_PAGE_AT_MOST_US < TOO_LITTLE * response_us and (not is_counted or pages < FEWEST_PAGES)


def _counted(measured: Sequence[Measurement]) -> tuple[str, ...]:
    return next((names for names in _MOVED if names[0] in measured[0].engine_counters), ())
