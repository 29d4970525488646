"""Whether the twins are twins, gathered as the run goes, told as validity checks at its end."""

from __future__ import annotations

import dataclasses
import itertools
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tdelta.engines.base import Build
from tdelta.errors import InvalidTwins
from tdelta.evidence.plans import compare
from tdelta.findings.temporary import shown_by, spilled
from tdelta.findings.twin_settings import SettingsCompared
from tdelta.messages import Caution, Detail, Parameter, Refusal, RunPart
from tdelta.messages.checks import (
    BUILDS,
    FILES,
    IN_FORCE,
    INSTRUCTIONS,
    REPLICAS,
    ROWS_AFTER,
    ROWS_BEFORE,
    SAME_WORK,
    SETTINGS,
    SPILLED,
    UNENCRYPTED,
)
from tdelta.processes import Checksums, Twin
from tdelta.processes.protocol import CipherProof
from tdelta.records import ENCRYPTION, CheckState, Condition, Trial, Validity
from tdelta.records.trials import CONFIRMED, UNCONFIRMED
from tdelta.session.check_request import AES_INSTRUCTIONS
from tdelta.session.pace import LOOKED_AT
from tdelta.session.run_plan import Plan
from tdelta.session.state import RunState

_MOST_ERRORS = 0.01
"""The share of failed operations above which a load generator's twins cannot be said to have worked."""


class Checks:
    """Remembers what twins looked like.

    Differences are kept, not raised, but for those that make all figures meaningless from the start: in rows before the
    first trial, and settings that are not in force on a twin.
    """

    def __init__(self, plan: Plan, state: RunState) -> None:
        self._plan = plan
        self._state = state
        self._notes = state.twins
        self._scripts = {name: str(script["text"]) for name, script in plan.workload.scripts().items()}
        self._before: list[Detail] = []
        self._ciphers_seen: dict[str, bool] = {}
        self._in_force_seen: dict[str, str] = {}
        self._expected: Checksums = {}
        self._ended: dict[int, tuple[str, Checksums]] = {}
        self._plans: dict[int, tuple[str, Mapping[str, Any]]] = {}

    def fresh(self, condition: Condition, twin: Twin) -> None:
        """A twin that was made: its settings, its cipher, and how it runs the statements."""
        self._settled(condition, twin.facts())
        self._in_force(condition, twin.cipher_facts())
        self._planned(condition, twin.plans(self._scripts))

    def loaded(self, name: str, sums: Checksums, expected: Checksums) -> None:
        """A loaded file's rows, against the rows as generated, or as read from the user's database."""
        self._expected = expected
        self._before += _differences(f"the load for {name}", sums, self._plan.rows_are, expected)

    def ciphered(self, cipher: str, *, is_encrypted: bool) -> None:
        """Whether a loaded file begins as its cipher says it must."""
        self._ciphers_seen[cipher] = is_encrypted
        if is_encrypted is (cipher == "none"):
            found = "encrypted" if is_encrypted else "plain"
            self._notes.ciphers.append(Detail.of("file-unlike-cipher", cipher=cipher, found=found))

    def _in_force(self, condition: Condition, facts: Mapping[str, str]) -> None:
        engine, settings = self._plan.engine, self._plan.twin_settings(condition, 0)
        self._in_force_seen.setdefault(str(condition.level("cipher")), engine.described(settings, facts))
        fault = engine.fault(settings, facts)
        if fault is not None:
            self._notes.in_force.append(Detail.of("cipher-fault", condition=condition.key, fault=fault))

    @property
    def _observed(self) -> Mapping[str, str]:
        """Ciphers that engines were seen to start for their pages, by the cipher requested; empty if none was seen."""
        return self._state.ciphers or {}

    def _planned(self, condition: Condition, plans: Mapping[str, Any]) -> None:
        """How a twin runs the statements, against the first twin of the same stratum; a difference is a caution."""
        if not plans:  # where a server says how it ran them, it must have run them first
            return
        first, known = self._plans.setdefault(condition.stratum, (condition.key, plans))
        for difference in compare({name: known[name] for name in known if name in plans}, plans):
            reported = Caution.of(
                "other-plan",
                statement=difference.statement,
                condition=condition.key,
                plan=difference.other,
                first=first,
                first_plan=difference.baseline,
            )
            if reported not in self._notes.cautions:
                self._notes.cautions.append(reported)

    def _settled(self, condition: Condition, facts: dict[str, str]) -> None:
        """Settings read back from a twin, against the first twin of the same stratum and build."""
        kind = condition.stratum + len(self._plan.strata) * self._build(condition)
        first, known = self._notes.facts.setdefault(kind, (condition.key, facts))
        for name, value in facts.items():
            if value != known[name]:
                self._notes.settings.append(
                    Detail.of(
                        "setting-differs",
                        setting=name,
                        value=value,
                        condition=condition.key,
                        other=known[name],
                        first=first,
                    )
                )

    def _build(self, condition: Condition) -> int:
        contrast = self._plan.settings.contrast
        if contrast == ENCRYPTION:
            return 0
        levels = dict.fromkeys(one.level(contrast) for one in self._plan.conditions)
        return list(levels).index(condition.level(contrast))

    def proved(self, condition: Condition, proof: CipherProof) -> None:
        """The cost of a page's cipher in a twin's own process, before its first trial."""
        self._notes.page_us.setdefault(str(condition.level(AES_INSTRUCTIONS)), []).append(proof.cipher_us_per_page)

    def unsettled(self, number: int, misses: Mapping[Condition, Sequence[float]]) -> None:
        """Caches that still missed less often from trial to trial when a round's first block had to begin."""
        for condition, found in misses.items():
            last = ", ".join(f"{value:.3g}" for value in found[-LOOKED_AT:])
            self._notes.cautions.append(
                Caution.of("cache-unsettled", round=number + 1, condition=condition.key, trials=len(found), misses=last)
            )

    def lost(self, number: int, void: RunPart, said: Refusal) -> None:
        """A twin's server died at work; what it was at is void, and its round went no further."""
        self._notes.cautions.append(Caution.of("server-lost", round=number + 1, void=void, why=said))

    def paused(self, number: int, block: int, said: Refusal) -> None:
        """Something stood still during a block, which is void and is run again."""
        self._notes.cautions.append(Caution.of("block-void", round=number + 1, block=block + 1, why=said))

    @property
    def losses(self) -> int:
        return sum(caution.code == "server-lost" for caution in self._notes.cautions)

    @property
    def cautions(self) -> tuple[Caution, ...]:
        """Cautions that do not make the run invalid, and go with its answer."""
        return (*self._notes.cautions, *self._key_cautions(), *self._same_programs(), *self._build_cautions())

    def _build_cautions(self) -> Iterator[Caution]:
        """Settings in which builds differ by their own defaults: that is part of what is compared."""
        if not self._plan.settings.compares_builds or len(self._plan.strata) > 1:
            return
        for name, values in self.settings_compared().varied.items():
            yield Caution.of("builds-settings", difference=f"{name}: {' / '.join(values)}")

    def before(self, condition: Condition, sums: Checksums) -> None:
        """A fresh twin's rows, against the rows as generated, or as read from the user's database."""
        self._before += _differences(condition.key, sums, self._plan.rows_are, self._expected)

    def after(self, condition: Condition, sums: Checksums) -> None:
        """A twin's rows after its round, against the first twin of the same stratum."""
        left_out = () if self._plan.source is None else self._plan.source.nondeterministic_tables
        compared = {table: found for table, found in sums.items() if table not in left_out}
        first, known = self._ended.setdefault(condition.stratum, (condition.key, compared))
        self._notes.after += _differences(condition.key, compared, first, known)

    def replicated(self, condition: Condition, primary: Checksums, replica: Checksums) -> None:
        """A replica's rows after its round, against its primary's."""
        self._notes.replicas += _differences(f"the replica of {condition.key}", replica, "its primary", primary)
        self._notes.replicas_compared += 1

    def round_over(self) -> None:
        """The next round's twins are compared among themselves."""
        self._notes.rounds_compared += bool(self._ended)
        self._ended = {}

    def raise_if_rows_differ(self) -> None:
        """Twins with different rows are not worth a trial."""
        if self._before:
            raise InvalidTwins(Refusal.of("twins-differ", differences="; ".join(map(str, self._before))))

    def validity(self, trials: Sequence[Trial]) -> tuple[Validity, ...]:
        return (
            self._of_rows(_settled(ROWS_BEFORE, self._before, (self._rows(),))),
            self._after_check(),
            self._settings_check(),
            *(self._builds_checks() if self._plan.settings.compares_builds else self._encryption_checks()),
            *instructions_check(self._notes.page_us),
            self._work_check(trials),
            *self._spilled_check(trials),
            *self._replicated_check(trials),
        )

    def _encryption_checks(self) -> tuple[Validity, Validity]:
        seen = Detail.of("cipher-seen", seen=self._ciphers_text())
        return self._unless_assumed(_settled(FILES, self._notes.ciphers, (seen,))), self._in_force_check()

    def _builds_checks(self) -> Iterator[Validity]:
        """That nothing is encrypted, and that the builds differ: of one build twice, whatever differs is chance."""
        seen = Detail.of("cipher-seen", seen=self._ciphers_text())
        yield self._unless_assumed(_settled(UNENCRYPTED, [*self._notes.ciphers, *self._notes.in_force], (seen,)))
        known = tuple(Detail.of("build", build=name, said=str(one)) for name, one in self._builds.items())
        state = CheckState.NOT_SHOWN if any(self._same_programs()) else CheckState.OK
        yield Validity(BUILDS, state, known)

    @property
    def _builds(self) -> Mapping[str, Build]:
        return next(iter(self._plan.engine.versions_compared().values()), {})

    def _same_programs(self) -> Iterator[Caution]:
        """Builds that are one: what they differ by is chance."""
        known = {name: build.digest() or build.said for name, build in self._builds.items()}
        for name, other in itertools.combinations(known, 2):
            if known[name] == known[other]:
                yield Caution.of("same-program", one=name, other=other)

    def _unless_assumed(self, check: Validity) -> Validity:
        """Of a server whose encryption only its owner vouches for, nothing was seen."""
        servers = self._plan.settings.external_servers
        if servers is None or not servers.assumed or check.failed:
            return check
        return dataclasses.replace(check, state=CheckState.NOT_SHOWN)

    @property
    def ciphers_in_force(self) -> dict[str, str]:
        return {
            cipher: _first_cipher(reported)
            for cipher, reported in self._observed.items()
            if reported and not _is_cipher(cipher, _first_cipher(reported))
        }

    def _in_force_check(self) -> Validity:
        """Another cipher than the one asked for is in the figures, which stand for that one: the run stays sound."""
        if self._notes.in_force:
            return _settled(IN_FORCE, self._notes.in_force, ())
        if others := self.ciphers_in_force:
            reported = tuple(
                Detail.of("other-cipher", cipher=cipher, observed=self._observed[cipher], found=found)
                for cipher, found in others.items()
            )
            return Validity(IN_FORCE, CheckState.FAILED, reported, makes_invalid=False)
        state = CheckState.OK if all(self._observed.values()) else CheckState.NOT_SHOWN
        return self._unless_assumed(Validity(IN_FORCE, state, tuple(self._in_force_seen_and_observed())))

    def _work_check(self, trials: Sequence[Trial]) -> Validity:
        command = self._plan.command
        if command is None or command.does_equal_work:
            return _settled(SAME_WORK, list(_unequal_work(trials)), (_work_done(trials),))
        if faults := tuple(_many_errors(trials)):
            return Validity(SAME_WORK, CheckState.FAILED, faults)
        return Validity(
            SAME_WORK,
            CheckState.NOT_SHOWN,
            (Detail.of("not-checked", why="the load generator determines the amount of work"), _work_done(trials)),
        )

    def _spilled_check(self, trials: Sequence[Trial]) -> Iterator[Validity]:
        """Of a workload that is to spill. What kept all in memory was measured well, and is of something else."""
        if not self._plan.workload.spills:
            return
        found: dict[str, list[bool | None]] = {}
        of_transactions = [trial for trial in trials if not self._plan.step(trial.condition)]
        for trial in of_transactions:
            reported = spilled(trial.measurement, writes=self._plan.writes)
            found.setdefault(trial.condition.key, []).append(reported)
        if any(None in reported for reported in found.values()) or not found:
            yield Validity(
                SPILLED,
                CheckState.NOT_SHOWN,
                (
                    Detail.of(
                        "not-checked", why="the engine counts no temporary files, and its transactions also write rows"
                    ),
                ),
            )
            return
        kept = tuple(
            Detail.of("not-spilled", condition=key, kept=reported.count(False), trials=len(reported))
            for key, reported in found.items()
            if False in reported
        )
        if kept:
            yield Validity(SPILLED, CheckState.FAILED, (*kept, Detail.of("spill-remedy")), makes_invalid=False)
            return
        counted = shown_by(of_transactions)
        yield Validity(SPILLED, CheckState.OK, (Detail.of("spilled", trials=len(of_transactions), counted=counted),))

    def _replicated_check(self, trials: Sequence[Trial]) -> Iterator[Validity]:
        """Of a run with replicas: they hold their primaries' rows, and every commit that was to wait for them did."""
        if not self._plan.has_replicas:
            return
        alone: Counter[str] = Counter()
        for trial in trials:
            alone[trial.condition.key] += trial.measurement.engine_counters.get(UNCONFIRMED, 0)
        faults = [*self._notes.replicas]
        faults += [Detail.of("commits-unconfirmed", condition=key, commits=n) for key, n in alone.items() if n]
        if not faults and not self._notes.replicas_compared:
            yield Validity(REPLICAS, CheckState.NOT_SHOWN, (Detail.of("not-checked", why="no complete round"),))
            return
        confirmed = sum(trial.measurement.engine_counters.get(CONFIRMED, 0) for trial in trials)
        fine = Detail.of("replicas-compared", replicas=self._notes.replicas_compared, commits=confirmed)
        yield _settled(REPLICAS, faults, (fine,))

    def _of_rows(self, check: Validity) -> Validity:
        """The same check; if only keys were compared it says so, and shows nothing if there were none."""
        source = self._plan.source
        if source is None or not source.has_keys_only or check.failed:
            return check
        keys = Detail.of("rows-keys", tables=len(source.tables), total=len(source.database.tables))
        if not source.tables:
            return Validity(check.code, CheckState.NOT_SHOWN, (keys,))
        return dataclasses.replace(check, details=(*check.details, keys))

    def _key_cautions(self) -> Iterator[Caution]:
        source = self._plan.source
        if source is not None and source.has_keys_only:
            yield Caution.of("only-keys-compared", tables=len(source.tables), total=len(source.database.tables))

    def _rows(self) -> Detail:
        rows, own = sum(count for count, _ in self._expected.values()), len(self._plan.workload.keys)
        source = "generated" if self._plan.source is None else "in the original"
        if self._plan.source is not None and own:
            source += f" ({own} key tables of tdelta)"
        return Detail.of("rows-same", rows=rows, tables=len(self._expected), source=source)

    def _after_check(self) -> Validity:
        if self._notes.after or self._notes.rounds_compared:
            fine = Detail.of("rows-after-rounds", rounds=self._notes.rounds_compared)
            return self._of_rows(_settled(ROWS_AFTER, self._notes.after, (fine, *self._left_out())))
        return Validity(
            ROWS_AFTER, CheckState.NOT_SHOWN, (Detail.of("not-checked", why="several threads, or no complete round"),)
        )

    def _left_out(self) -> Iterator[Detail]:
        if threaded := sum(condition.level("threads") != 1 for condition in self._plan.conditions):
            yield Detail.of("rows-after-not-threaded", twins=threaded)
        if tables := () if self._plan.source is None else self._plan.source.nondeterministic_tables:
            yield Detail.of("rows-after-not-tables", tables=", ".join(tables))

    def _settings_check(self) -> Validity:
        """Servers of the user's may differ in more than encryption, which the cautions name; then this is not shown."""
        check = _settled(SETTINGS, self._notes.settings, tuple(self._settings_seen()))
        servers = self._plan.settings.external_servers
        if servers is None or not servers.differences or check.failed:
            return check
        return dataclasses.replace(check, state=CheckState.NOT_SHOWN)

    def _settings_seen(self) -> Iterator[Detail]:
        if found := self._plan.engine.settings_compared():
            yield Detail.of("settings-compared", settings=found)
            return
        compared = self.settings_compared()
        yield Detail.of("settings-compared", settings=", ".join(compared.shared))
        if compared.varied:
            yield Detail.of("settings-varied", settings=", ".join(compared.varied))

    def settings_compared(self) -> SettingsCompared:
        """Settings that twins share, differences between strata, and settings only encrypted twins have."""
        values: dict[str, dict[str, None]] = {}
        for _, facts in self._notes.facts.values():
            for name, value in facts.items():
                values.setdefault(name, {})[value] = None
        engine, kinds = self._plan.engine, self._plan.data_templates().values()
        settings = [self._plan.twin_settings(condition, 0) for condition in kinds]
        return SettingsCompared(
            shared={name: next(iter(found)) for name, found in sorted(values.items()) if len(found) == 1},
            varied={name: tuple(found) for name, found in sorted(values.items()) if len(found) > 1},
            differing={engine.template(s).words: names for s in settings if (names := engine.differing(s))},
        )

    def _ciphers_text(self) -> str:
        said = self._plan.engine.encryption_status
        return ", ".join(said(cipher, is_encrypted=on) for cipher, on in self._ciphers_seen.items())

    def _in_force_seen_and_observed(self) -> Iterator[Detail]:
        ciphers = dict.fromkeys(str(condition.level("cipher")) for condition in self._plan.conditions)
        seen = ((cipher, self._in_force_seen[cipher]) for cipher in ciphers if cipher in self._in_force_seen)
        if of_all := ", ".join(f"{cipher}: {reported}" for cipher, reported in seen):
            yield Detail.of("cipher-seen", seen=of_all)
        for cipher, reported in self._observed.items():
            yield Detail.of("cipher-observed", cipher=cipher, seen=reported or "nothing")


def _first_cipher(reported: str) -> str:
    """The name of what was started most often; ECB only where there is nothing else: it is for the ends of pages."""
    names = re.findall(r"([A-Za-z0-9-]+) [\d,]+ times", reported)
    return next((name for name in names if not name.endswith("-ECB")), next(iter(names), reported))


def _is_cipher(asked: str, found: str) -> bool:
    """Whether an AES that was seen is the one asked for, by its key and its mode as far as that was asked for."""
    wanted = asked.upper().split("-")
    is_named = wanted[0] == "AES" and found.upper().startswith("AES-")
    return not is_named or found.upper().split("-")[: len(wanted)] == wanted


def _settled(check: str, faults: Sequence[Detail], fine: tuple[Detail, ...]) -> Validity:
    if faults:
        return Validity(check, CheckState.FAILED, tuple(dict.fromkeys(faults)))
    return Validity(check, CheckState.OK, fine)


def _differences(name: str, sums: Checksums, other: str, expected: Checksums) -> Iterator[Detail]:
    for table, (rows, digest) in expected.items():
        found = sums.get(table, (0, ""))
        counts: dict[str, Parameter] = {
            "table": table,
            "name": name,
            "rows": found[0],
            "other": other,
            "expected": rows,
        }
        if found[0] != rows:
            yield Detail.of("rows-differ", **counts)
        elif found != (rows, digest):
            yield Detail.of("values-differ", **counts)


def _unequal_work(trials: Iterable[Trial]) -> Iterator[Detail]:
    done: dict[tuple[int, int], int] = {}
    for trial in trials:
        measured = trial.measurement
        where: dict[str, Parameter] = {"block": trial.block + 1, "condition": trial.condition.key}
        if measured.stopped_by != "count":
            yield Detail.of("trial-stopped", stopped_by=measured.stopped_by, **where)
        if failed := sum(measured.errors.values()):
            yield Detail.of("trial-errors", errors=failed, **where)
        expected = done.setdefault((trial.block, trial.condition.stratum), measured.operations)
        if measured.operations != expected:
            yield Detail.of("trial-unequal", operations=measured.operations, expected=expected, **where)


def _many_errors(trials: Iterable[Trial]) -> Iterator[Detail]:
    """Conditions of which more than `_MOST_ERRORS` of the operations failed, as the load generator counts them."""
    operations: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for trial in trials:
        operations[trial.condition.key] += trial.measurement.operations
        errors[trial.condition.key] += sum(trial.measurement.errors.values())
    for key, failed in errors.items():
        if failed > _MOST_ERRORS * (operations[key] + failed):
            yield Detail.of("many-errors", condition=key, errors=failed, operations=operations[key])


def _work_done(trials: Sequence[Trial]) -> Detail:
    operations = sum(trial.measurement.operations for trial in trials)
    errors = sum(sum(trial.measurement.errors.values()) for trial in trials)
    return Detail.of("work-done", operations=operations, trials=len(trials), errors=errors)


LEAST_SLOWDOWN = 2.0
"""By how much a page's cipher must be slower without the instructions, for the level to count as off.

aes-256 was found 11 times as slow (benches/results/instrument.md); a worker that kept the instructions would show 1.
"""


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
