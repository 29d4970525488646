"""Whether the CPU's AES instructions can be switched off here, and whether the workers show that they were.

The level ``off`` of ``aes_instructions`` needs a library that can be kept from the instructions
(`tdelta.measure.aes`). Where it cannot, the level is left out and the run says so; it is never run under a false name.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from tdelta.errors import UsageError
from tdelta.measure.aes import CryptoKind, cannot_hide
from tdelta.messages import Caution, Detail, Refusal
from tdelta.messages.checks import INSTRUCTIONS
from tdelta.records import CheckState, Level, Validity

FACTOR = "aes_instructions"

LEAST_SLOWDOWN = 2.0
"""By how much a page's cipher must be slower without the instructions, for the level to count as off.

aes-256 was found 11 times as slow (benches/results/instrument.md); a worker that kept the instructions would show 1.
"""


def available(
    vary: Mapping[str, tuple[Level, ...]], crypto: str
) -> tuple[dict[str, tuple[Level, ...]], tuple[Caution, ...]]:
    """The levels that can be had, and a caution for what was left out.

    Args:
        crypto: whose code the library under test encrypts with, as `tdelta.engines.sqlite.libraries.Library` says.

    Raises:
        UsageError: ``off`` is the only level asked for, and cannot be had.
    """
    levels = vary.get(FACTOR, ())
    reason = cannot_switch_off(crypto) if "off" in levels else None
    if reason is None:
        return dict(vary), ()
    kept = tuple(level for level in levels if level != "off")
    if not kept:
        raise UsageError(Refusal.of("level-out-of-reach", factor=FACTOR, level="off", why=reason))
    others = {factor: of for factor, of in vary.items() if factor != FACTOR}
    return others, (Caution.of("instructions-left-out", factor=FACTOR, why=reason),)


def cannot_switch_off(crypto: str) -> str | None:
    """Why the level ``off`` cannot be had here, for people; None where it can.

    Args:
        crypto: whose code encrypts, as `tdelta.engines.sqlite.libraries.Library` says.
    """
    if crypto not in tuple(CryptoKind):
        return f"the library under test encrypts with {crypto!r}, from which nothing can hide the instructions"
    return cannot_hide(CryptoKind(crypto))


def instructions_check(page_us: Mapping[str, Sequence[float]]) -> tuple[Validity, ...]:
    """Whether every worker showed its level by what its library's page cipher cost; empty if no level was varied.

    Args:
        page_us: by level, µs per page in each worker that was to have it.
    """
    on, off = (page_us.get(level, ()) for level in ("on", "off"))
    if not on and not off:
        return ()
    if not (on and off):
        (level,) = page_us
        alone = Detail.of("instructions-not-compared", level=level, cost=_span(page_us[level]))
        return (Validity(INSTRUCTIONS, CheckState.NOT_SHOWN, (alone,)),)
    typical = statistics.median(on)
    wrong = [cost for cost in off if cost < LEAST_SLOWDOWN * typical] + [cost for cost in on if cost > min(off)]
    shown = Detail.of("instructions-shown", on=_span(on), off=_span(off))
    if wrong:
        needed = Detail.of("instructions-wrong", times=LEAST_SLOWDOWN)
        return (Validity(INSTRUCTIONS, CheckState.FAILED, (shown, needed)),)
    return (Validity(INSTRUCTIONS, CheckState.OK, (shown,)),)


def _span(page_us: Sequence[float]) -> str:
    least, most = min(page_us), max(page_us)
    return f"{least:.2f} to {most:.2f} µs per page" if least < most else f"{least:.2f} µs per page"
