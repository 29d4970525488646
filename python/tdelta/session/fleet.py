"""A fleet: the runs of an inventory, one on a node at a time, and never two that use the same server.

Each run is an ordinary `tdelta run` on its node, whose pack comes into the store here. A journal beside the store says
which have ended; it is written after the store, each line durably, so that whoever is killed in between goes on with
what is not in it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import IO, Protocol

from tdelta.errors import UsageError
from tdelta.inputs import real_path
from tdelta.messages import Refusal
from tdelta.ray.bridge import require_ray
from tdelta.ray.fleet import Ended, Sites
from tdelta.records import Decision, RunResult
from tdelta.session.inventory import Inventory, Target
from tdelta.store import Store
from tdelta.store.pack import SUFFIX, adopt, unpacked

_LOOK_SECONDS = 5.0
_MOST_TRIES = 3
_LOST_SECONDS = 120.0
"""How long the servers of a run that was lost count as in use: a node that was only cut off has 60 s until its Ray
gives up the head, and the run then 60 s to tidy up (`tdelta.ray.fleet_run`)."""

_ANSWERED = (0, 3, 4, 5)
"""Exit codes of runs that came to an answer."""

_INTERNAL = 1
_ERROR = "error: "
"""How `tdelta` begins what is wrong on standard error."""

PILOT_SHARE = 0.2
"""The share of a fleet's time that is dealt out evenly, to see how wide intervals are."""


@dataclass(frozen=True, slots=True)
class TargetRun:
    """How a target's run ended: ``fault`` says why there is no answer. ``digest`` is of the words it was asked in."""

    target: str
    digest: str
    run_id: str
    node: str
    exit_code: int
    fault: str
    ended_unix_seconds: float

    @property
    def is_answered(self) -> bool:
        return bool(self.run_id) and self.exit_code in _ANSWERED


class Nodes(Protocol):
    """Where runs are made; see `tdelta.ray.fleet.Sites`."""

    def place(self, name: str, words: list[str]) -> str | None:
        """Begin a run; returns its node, None where every node has one."""

    def left_out(self) -> Sequence[Refusal]:
        """Why nodes make no runs, of those found since this was last asked."""

    def next(self, seconds: float) -> Ended | None:
        """A run that has ended, within so many seconds."""

    def end(self) -> None:
        """End all."""


def conduct_fleet(
    inventory: Inventory,
    store: Store,
    say: Callable[[str], object],
    *,
    address: str | None = None,
    rerun: bool = False,
    nodes: Callable[[str | None], Nodes] = Sites,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[TargetRun, ...]:
    """Make the runs of a fleet that have no answer yet; returns how each target's ended, in the inventory's order.

    Args:
        say: called with a line for each run that begins or ends.
        address: of the Ray cluster; None: one of this machine's is made.
        rerun: make all runs, also those that have an answer.
        nodes: where runs are made; tests put others there.
        clock: the time in seconds; tests put another there.

    Raises:
        UsageError: Ray is not installed, or the same fleet is at work.
        EnvironmentFault: Ray, or a node of it that makes runs, cannot be had.
    """
    with _journal(inventory, store) as journal, ExitStack() as stack:

        @cache
        def places() -> Nodes:
            """Made once a run needs them."""
            if nodes is Sites:
                require_ray()
            made = nodes(address)
            stack.callback(made.end)
            return made

        def finished(targets: Sequence[Target]) -> dict[str, TargetRun]:
            kept = {} if rerun else _kept(journal, targets, store)
            waiting = [target for target in targets if target.name not in kept]
            if kept:
                say(f"{len(kept)} of {len(targets)} runs are in the store already")
            if waiting:
                for ended in _made(places(), waiting, inventory.at_once, store, say, clock):
                    _write(journal, ended)
                    kept[ended.target] = ended
            return kept

        if inventory.seconds is None:
            found = finished(inventory.targets)
        else:
            pilot_seconds = PILOT_SHARE * inventory.seconds / len(inventory.targets)
            found = finished([target.lasting(pilot_seconds) for target in inventory.targets])
            widths = {name: _width(store.result(run.run_id)) for name, run in found.items() if run.is_answered}
            longer = shares(widths, pilot_seconds, (1.0 - PILOT_SHARE) * inventory.seconds)
            again = finished([one.lasting(longer[one.name]) for one in inventory.targets if one.name in longer])
            found |= {name: run for name, run in again.items() if run.is_answered}
    return tuple(found[target.name] for target in inventory.targets)


def shares(widths: Mapping[str, float], pilot_seconds: float, rest_seconds: float) -> dict[str, float]:
    """How the time that pilots left is shared among runs that begin again, so that their intervals become equally wide.

    An interval narrows with the square root of the time, so time goes by the square of the width. Who would get no more
    than the pilot had is left with its answer, for the others' good.

    Args:
        widths: of the pilots' intervals, over that of the tolerance; 0 where nothing is undecided.
        pilot_seconds: what each pilot had.
        rest_seconds: what is shared.
    """
    left = {name: width for name, width in widths.items() if width > 0.0}
    while left:
        total = sum(width**2 for width in left.values())
        found = {name: rest_seconds * width**2 / total for name, width in left.items()}
        least = min(found, key=lambda name: found[name])
        if found[least] > pilot_seconds:
            return found
        del left[least]
    return {}


def _width(result: RunResult | None) -> float:
    """The widest primary interval over the tolerance's width; 0 where the run is decided, or can have no answer."""
    if result is None or result.decision is not Decision.UNDECIDED:
        return 0.0
    found = [high - low for low, high in (verdict.ratio.hdi95 for verdict in result.primary)]
    return max((width / (2.0 * result.settings.tolerance) for width in found if math.isfinite(width)), default=0.0)


def _made(
    nodes: Nodes,
    waiting: list[Target],
    at_once: int | None,
    store: Store,
    say: Callable[[str], object],
    clock: Callable[[], float],
) -> Iterator[TargetRun]:
    """The runs as they end. One whose node dies is begun again."""
    running: dict[str, Target] = {}
    used_until: dict[str, float] = {}
    tries = Counter[str]()
    while waiting or running:
        for target in list(waiting):
            if at_once is not None and len(running) >= at_once:
                break
            if any(target.servers & other.servers for other in running.values()):
                continue
            if any(used_until.get(server, 0.0) > clock() for server in target.servers):
                continue
            node = nodes.place(target.name, list(target.words))
            for why in nodes.left_out():
                say(why.text)
            if node is None:
                break
            say(f"{target.name}: begun on {node}")
            waiting.remove(target)
            running[target.name] = target
        ended = nodes.next(_LOOK_SECONDS)
        if ended is None:
            continue
        target = running.pop(ended.name)
        tries[target.name] += 1
        if ended.lost:
            used_until |= dict.fromkeys(target.servers, clock() + _LOST_SECONDS)
        if ended.lost and tries[target.name] < _MOST_TRIES:
            say(f"{target.name}: lost on {ended.node}, begun again: {ended.lost}")
            waiting.append(target)
            continue
        found = _taken(target, ended, store)
        said = f"run {found.run_id}" if found.is_answered else found.fault
        say(f"{target.name}: ended on {ended.node} with exit code {found.exit_code}: {said}")
        yield found


def _taken(target: Target, ended: Ended, store: Store) -> TargetRun:
    code, run_id, fault = ended.code, "", ended.lost or _error_of(ended.said)
    if ended.lost:
        code = _INTERNAL
    elif ended.pack:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"run{SUFFIX}"
            path.write_bytes(ended.pack)
            with unpacked(path) as (opened, run_id):
                adopt(store, opened, run_id)
        fault = ""
    return TargetRun(target.name, target.digest, run_id, ended.node, code, fault, time.time())


def _error_of(said: str) -> str:
    """The error among the lines that a run wrote on standard error: its steps come before."""
    lines = said.splitlines()
    at = next((n for n in reversed(range(len(lines))) if lines[n].startswith(_ERROR)), max(0, len(lines) - 1))
    return "\n".join(lines[at:]).removeprefix(_ERROR)


@contextmanager
def _journal(inventory: Inventory, store: Store) -> Iterator[IO[str]]:
    digest = hashlib.sha256(os.fsencode(real_path(inventory.path))).hexdigest()[:16]
    path = store.path.with_name(f"fleet-{digest}.jsonl")
    path.touch(0o600)
    with path.open("r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(Refusal.of("fleet-at-work", path=str(inventory.path))) from None
        yield file


def _kept(journal: IO[str], targets: Sequence[Target], store: Store) -> dict[str, TargetRun]:
    """The runs with an answer that were asked for in the same words, and are still in the store."""
    journal.seek(0)
    ended: dict[str, TargetRun] = {}
    for line in journal:
        try:
            found = TargetRun(**json.loads(line))
        except (ValueError, TypeError):  # a line that was cut off, or another version's
            continue
        ended[found.digest] = found
    there = set(store.run_ids())
    asked = {target.name: ended.get(target.digest) for target in targets}
    return {name: run for name, run in asked.items() if run is not None and run.is_answered and run.run_id in there}


def _write(journal: IO[str], ended: TargetRun) -> None:
    journal.seek(0, os.SEEK_END)
    journal.write(f"\n{json.dumps(asdict(ended))}\n")  # after what may be half a line
    journal.flush()
    os.fsync(journal.fileno())
