"""From the levels that were asked for to the conditions that will run: a full factorial with its controls.

The cipher, what it is applied to (a server's scope), where keys come from, what the twin lies on, what goes on beside
the load and the CPU's AES instructions are what is compared; every combination of the other factors is a *stratum*. It
has its own plain baseline (with the instructions, where both levels run, and with nothing beside its load), so
that no comparison crosses threads, cache or page size, and by default an A/A twin of it, so that every comparison has a
noise floor. Beside each encrypted condition there can be a B/B twin of it: the noise floor of what is encrypted, of
which a round has one (`tdelta.design.drawn_twin`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tdelta.design.actions import NOTHING, is_for
from tdelta.design.factors import AES_INSTRUCTIONS
from tdelta.design.randomness import stream
from tdelta.errors import UsageError
from tdelta.inputs import out_of_range
from tdelta.messages import Refusal
from tdelta.records import ENCRYPTION, PLAIN_STORAGE, Condition, Level, Role

# Which host each twin of a round is on, where the twins of a run change hosts: a crossover.
#
# Where plain and encrypted servers stay on two hosts, encryption cannot be separated from the host. So in
# each round the baseline and what is compared with it are on different hosts, and an A/A twin is beside what
# is compared, a B/B twin beside the baseline: with both, each host has a plain twin and an encrypted one in
# every round. From round to round all move on by one host. In each cycle of as many rounds as there are hosts
# every twin is on every host once; where a cycle begins is drawn.
# (B. Jones and M. G. Kenward 2014, Design and Analysis of Cross-Over Trials, chapter 2.)

_BESIDE_BASELINE = (Role.BASELINE, Role.BB)


def hosts_of(seed: int, round_number: int, conditions: Sequence[Condition], count: int) -> dict[Condition, int]:
    """The host of each condition's twin in one round.

    Args:
        round_number: from 0.
        conditions: those that have a twin.

    Returns:
        Numbers from 0.
    """
    cycle, place = divmod(round_number, count)
    first = int(stream(seed, "hosts", cycle).integers(count)) + place
    return {c: (first + (0 if c.role in _BESIDE_BASELINE else 1)) % count for c in conditions}


Levels: TypeAlias = tuple[tuple[str, Level], ...]

PLAIN = "none"
"""The cipher level of every baseline."""

INJECTED_SHARE_MAX = 5.0
"""The largest cost that can be injected: +500%, near what software AES costs a scan."""

UNSCOPED = "none"
"""The level of ``scope`` and ``keys`` of every plain twin: nothing is encrypted."""

_OF_ENCRYPTED = ("scope", "keys")
"""The factors that plain twins have no level of."""

COMPARED = (ENCRYPTION, "scope", "keys", "storage", "during", "aes_instructions")
"""The factors whose levels are compared within a stratum; all others make strata.

Where the contrast is another factor, its levels are compared, of which the first is the baseline, and nothing encrypts.
"""


def lay_out(
    vary: Mapping[str, tuple[Level, ...]],
    *,
    contrast: str = ENCRYPTION,
    threads: int = 1,
    self_test: bool = False,
    aa_control: bool = True,
    bb_control: bool = False,
    inject: Sequence[float] = (),
) -> tuple[Condition, ...]:
    """Lay out the conditions of a run.

    Args:
        vary: the levels of each varied factor. ``cipher`` gains the level ``none`` in front where it lacks it,
            ``storage`` the level ``plain``.
        contrast: ``cipher``, or the factor whose first level is the baseline of the others, without encryption.
        threads: the level of ``threads`` where it is not varied.
        self_test: run identical plain twins: what is compared is set aside, and a second plain twin is judged.
        aa_control: give every stratum an A/A twin of its baseline (a twin that is not judged).
        bb_control: give every encrypted condition a B/B twin (not judged either); none with ``self_test``.
        inject: costs to inject, as shares (0.05 for 5%); each adds a plain twin with that cost to every stratum.

    Returns:
        The conditions, stratum by stratum: the baseline, its A/A twin, then what is judged, each encrypted condition
        with its B/B twin behind it. Their levels are those of `COMPARED` where they are varied, ``threads``,
        then the other varied factors in the order of ``vary``.

    Raises:
        UsageError: an injected share outside (0, 5] or given twice (all such at once), or nothing to judge.
    """
    _check_injected(inject)
    plain, *compared = _compared(vary, contrast, self_test=self_test)
    if not (compared or self_test or inject):
        raise UsageError(Refusal.of("nothing-to-compare"))
    others = {"threads": vary.get("threads", (threads,))}
    others |= {factor: levels for factor, levels in vary.items() if factor not in (*COMPARED, contrast, "threads")}
    conditions: list[Condition] = []
    for stratum, levels in enumerate(itertools.product(*others.values())):
        rest = tuple(zip(others, levels, strict=True))
        conditions += _controls((*plain, *rest), stratum, self_test=self_test, aa_control=aa_control)
        conditions += (Condition((*treatment, *rest), Role.TREATMENT, stratum) for treatment in compared)
        conditions += (Condition((*plain, *rest), Role.INJECTED, stratum, share) for share in inject)
    return with_bb_twins(conditions, contrast) if bb_control else tuple(conditions)


def with_bb_twins(conditions: Iterable[Condition], contrast: str = ENCRYPTION) -> tuple[Condition, ...]:
    """The same conditions, each one that is judged for what the contrast costs with a B/B twin behind it."""
    found: list[Condition] = []
    for condition in conditions:
        found.append(condition)
        if condition.is_treated(contrast):
            found.append(replace(condition, role=Role.BB))
    return tuple(found)


def _compared(vary: Mapping[str, tuple[Level, ...]], contrast: str, *, self_test: bool) -> list[Levels]:
    """The levels that are compared in every stratum, the baseline's first."""
    if contrast != ENCRYPTION:
        return [(("cipher", PLAIN), (contrast, level)) for level in vary[contrast]]
    ciphers = [level for level in vary.get("cipher", ()) if level != PLAIN and not self_test]
    names = [name for name in _OF_ENCRYPTED if name in vary]
    plain: Levels = (("cipher", PLAIN), *((name, UNSCOPED) for name in names))
    varied = [tuple(zip(names, levels, strict=True)) for levels in itertools.product(*(vary[name] for name in names))]
    encrypted: list[Levels] = [(("cipher", cipher), *levels) for cipher in ciphers for levels in varied]
    if "storage" in vary:
        asked = [PLAIN_STORAGE, *(level for level in vary["storage"] if level != PLAIN_STORAGE and not self_test)]
        plain, *encrypted = [(*levels, ("storage", on)) for on in asked for levels in (plain, *encrypted)]
    if "during" in vary:
        beside = [NOTHING, *(str(level) for level in vary["during"] if level != NOTHING and not self_test)]
        plain, *encrypted = [
            (*levels, ("during", level))
            for levels in (plain, *encrypted)
            for level in beside
            if is_for(level, is_encrypted=levels is not plain)
        ]
    if "aes_instructions" not in vary:
        return [plain, *encrypted]
    instructions = sorted(vary["aes_instructions"], key=lambda level: AES_INSTRUCTIONS.index(str(level)))
    pairs = [(*levels, ("aes_instructions", level)) for level in instructions for levels in (plain, *encrypted)]
    return pairs[:1] if self_test else pairs


def _controls(plain: Levels, stratum: int, *, self_test: bool, aa_control: bool) -> Iterator[Condition]:
    yield Condition(plain, Role.BASELINE, stratum)
    if aa_control:
        yield Condition(plain, Role.AA, stratum)
    if self_test:
        yield Condition(plain, Role.IDENTICAL, stratum)


def _check_injected(inject: Sequence[float]) -> None:
    faults = [
        out_of_range("an injected slowdown", f"above 0 and at most {INJECTED_SHARE_MAX:g}", share)
        for share in inject
        if not 0 < share <= INJECTED_SHARE_MAX
    ]
    named = Counter(f"{share:g}" for share in inject)  # as in the condition's key, which must be unique
    faults += [Refusal.of("twice", what=f"injected slowdown {share}") for share, times in named.items() if times > 1]
    if faults:
        raise UsageError(*faults)
