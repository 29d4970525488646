"""Whether the twins are twins, gathered as the run goes, told as validity checks at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tdelta.driver import Checksums
from tdelta.driver.proof import CipherProof
from tdelta.errors import UnsoundTwins
from tdelta.records import Condition, Trial, Validity
from tdelta.session.instructions import FACTOR, instructions_check
from tdelta.session.planning import Plan

_VARIED_BY = {"cache": ("cache_size",), "journal_mode": ("journal_mode",), "threads": ("cache_size",)}
_DIFFERENT_BY_RESERVE = frozenset({"page_count"})


class Checks:
    """Remembers what twins looked like. Differences are kept, not raised, but for rows that differ from the start."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._before: list[str] = []
        self._after: list[str] = []
        self._settings: list[str] = []
        self._ciphers: list[str] = []
        self._ciphers_seen: dict[str, bool] = {}
        self._in_force: list[str] = []
        self._in_force_seen: dict[str, str] = {}
        self._expected: Checksums = {}
        self._ended: dict[int, tuple[str, Checksums]] = {}
        self._rounds_compared = 0
        self._facts: dict[int, tuple[str, dict[str, str]]] = {}
        self._page_us: dict[str, list[float]] = {}

    def as_json(self) -> dict[str, object]:
        """What earlier rounds found, as JSON values, for the next sitting at the same run."""
        return {
            "after": self._after,
            "settings": self._settings,
            "ciphers": self._ciphers,
            "page_us": self._page_us,
            "in_force": self._in_force,
            "rounds_compared": self._rounds_compared,
        }

    def restore(self, found: Mapping[str, Any]) -> None:
        """Take over what `as_json` of an earlier sitting wrote: a check that has failed stays failed."""
        self._after = list(found["after"])
        self._settings = list(found["settings"])
        self._ciphers = list(found["ciphers"])
        self._in_force = list(found.get("in_force", []))
        self._rounds_compared = int(found["rounds_compared"])
        self._page_us = {level: list(costs) for level, costs in found.get("page_us", {}).items()}

    def loaded(self, name: str, sums: Checksums, expected: Checksums) -> None:
        """A loaded file's rows, against the rows as generated, or as read from the user's database."""
        self._expected = expected
        self._before += _differences(f"the load for {name}", sums, self._plan.rows_are, expected)

    def ciphered(self, cipher: str, *, is_encrypted: bool) -> None:
        """Whether a loaded file begins as its cipher says it must."""
        self._ciphers_seen[cipher] = is_encrypted
        if is_encrypted is (cipher == "none"):
            found = "encrypted" if is_encrypted else "plain"
            self._ciphers.append(f"the file loaded with cipher {cipher} is {found}")

    def in_force(self, condition: Condition, facts: Mapping[str, str]) -> None:
        """What a twin says of its cipher, against the one it was asked for."""
        cipher = str(condition.level("cipher"))
        told = [f"{name} {facts[name]}" for name in self._plan.engine.ciphers[cipher].in_force]
        self._in_force_seen.setdefault(cipher, "a plain file" if cipher == "none" else ", ".join(told))
        fault = self._plan.engine.cipher_fault(cipher, facts)
        if fault is not None:
            self._in_force.append(f"{condition.key}: {fault}")

    def settled(self, condition: Condition, facts: dict[str, str]) -> None:
        """Settings read back from a twin, against the first twin of the same stratum."""
        first, known = self._facts.setdefault(condition.stratum, (condition.key, facts))
        allowed = frozenset() if self._plan.request.reserve == "equal" else _DIFFERENT_BY_RESERVE
        for name, value in facts.items():
            if value != known[name] and name not in allowed:
                self._settings.append(f"{name} is {value} on {condition.key} and {known[name]} on {first}")

    def proved(self, condition: Condition, proof: CipherProof) -> None:
        """What a page's cipher cost in a twin's own process, before its first trial."""
        self._page_us.setdefault(str(condition.level(FACTOR)), []).append(proof.cipher_us_per_page)

    def before(self, condition: Condition, sums: Checksums) -> None:
        """A fresh twin's rows, against the rows as generated, or as read from the user's database."""
        self._before += _differences(condition.key, sums, self._plan.rows_are, self._expected)

    def after(self, condition: Condition, sums: Checksums) -> None:
        """A twin's rows after its round, against the first twin of the same stratum."""
        left_out = () if self._plan.source is None else self._plan.source.unrepeatable
        compared = {table: found for table, found in sums.items() if table not in left_out}
        first, known = self._ended.setdefault(condition.stratum, (condition.key, compared))
        self._after += _differences(condition.key, compared, first, known)

    def round_over(self) -> None:
        """The next round's twins are compared among themselves."""
        self._rounds_compared += bool(self._ended)
        self._ended = {}

    def raise_if_rows_differ(self) -> None:
        """Twins with different rows are not worth a trial.

        Raises:
            UnsoundTwins: what differs.
        """
        if self._before:
            raise UnsoundTwins("the twins do not hold the same rows: " + "; ".join(self._before))

    def validity(self, trials: Sequence[Trial]) -> tuple[Validity, ...]:
        """All checks, each with what it found."""
        return (
            _told("rows are the same before the first trial", self._before, self._rows_text()),
            self._after_check(),
            _told("settings are the same", self._settings, self._settings_text()),
            _told("files are encrypted as asked", self._ciphers, self._ciphers_text()),
            *instructions_check(self._page_us),
            _told("the cipher in force is the one asked for", self._in_force, self._in_force_text()),
            _told("the same work was done", list(_unequal_work(trials)), _work_text(trials)),
        )

    def _rows_text(self) -> str:
        rows = sum(count for count, _ in self._expected.values())
        return f"{rows:,} rows in {len(self._expected)} tables, by checksum, {self._origin_text()}"

    def _origin_text(self) -> str:
        if self._plan.source is None:
            return "as generated"
        own = len(self._plan.workload.keys)
        return "as in the original" + (f" ({own} of them tdelta's own, of keys)" if own else "")

    def _after_check(self) -> Validity:
        name = "rows are the same after the last trial"
        if self._after or self._rounds_compared:
            fine = f"by checksum, at the end of {self._rounds_compared} rounds{self._left_out()}"
            return _told(name, self._after, fine)
        return Validity(name, True, "NOT compared: more than one thread, or no round came to its end")

    def _left_out(self) -> str:
        threaded = sum(condition.level("threads") != 1 for condition in self._plan.conditions)
        twins = f"; not on the {threaded} twins with more than one thread" if threaded else ""
        tables = () if self._plan.source is None else self._plan.source.unrepeatable
        return twins + (f"; not of {', '.join(tables)}, which the clock or chance writes to" if tables else "")

    def _settings_text(self) -> str:
        varied = {name for factor in self._plan.request.vary for name in _VARIED_BY.get(factor, ())}
        names = sorted({name for _, facts in self._facts.values() for name in facts} - varied)
        return ", ".join(names) + (f"; varied: {', '.join(sorted(varied))}" if varied else "")

    def _ciphers_text(self) -> str:
        shown = {True: "hides", False: "shows"}
        return ", ".join(f"{cipher} {shown[hidden]} its header" for cipher, hidden in self._ciphers_seen.items())

    def _in_force_text(self) -> str:
        ciphers = dict.fromkeys(str(condition.level("cipher")) for condition in self._plan.conditions)
        seen = ((cipher, self._in_force_seen[cipher]) for cipher in ciphers if cipher in self._in_force_seen)
        return ", ".join(f"{cipher}: {told}" for cipher, told in seen)


def _told(check: str, faults: Sequence[str], fine: str) -> Validity:
    return Validity(check, not faults, "; ".join(dict.fromkeys(faults)) if faults else fine)


def _differences(name: str, sums: Checksums, other: str, expected: Checksums) -> list[str]:
    return [
        f"table {table}: {name} has {sums.get(table, (0, ''))[0]:,} rows and {other} {rows:,}"
        + (", with other values" if sums.get(table, (0, ""))[0] == rows else "")
        for table, (rows, digest) in expected.items()
        if sums.get(table) != (rows, digest)
    ]


def _unequal_work(trials: Iterable[Trial]) -> Iterable[str]:
    done: dict[tuple[int, int], int] = {}
    for trial in trials:
        measured = trial.measurement
        where = f"block {trial.block + 1}, {trial.condition.key}"
        if measured.stopped_by != "count":
            yield f"{where}: ended by {measured.stopped_by}"
        if measured.errors:
            yield f"{where}: {sum(measured.errors.values())} errors"
        expected = done.setdefault((trial.block, trial.condition.stratum), measured.operations)
        if measured.operations != expected:
            yield f"{where}: {measured.operations} operations, another twin did {expected}"


def _work_text(trials: Sequence[Trial]) -> str:
    operations = sum(trial.measurement.operations for trial in trials)
    return f"{operations:,} operations in {len(trials)} trials, no errors"
