"""A server check from its first session to its report: steps are tried, timed and redacted, and all is removed.

Whatever fails, the schemas are dropped, and what is found of them afterwards is the last step. No step begins, and none
goes on, after `LIMIT_SECONDS`.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tdelta import __version__
from tdelta.engines.server.pairs import external_dsns
from tdelta.engines.server.passwords import shared_passwords
from tdelta.engines.server.redacting import VARIABLE, without
from tdelta.errors import StorageFault, TdeltaError, UsageError
from tdelta.measure.private import private
from tdelta.messages import Refusal
from tdelta.processes.workers import Refused
from tdelta.records import Event, Phase
from tdelta.records.server_check import Outcome, ServerCheck, ServerCheckStep
from tdelta.session.clock import Clock, Interruption, interruptible
from tdelta.session.request import RunRequest
from tdelta.session.run_plan import check
from tdelta.session.server_check.steps import STEPS, AbilityCheck, Bench, NotOffered, lacking


def redacted(step: ServerCheckStep, secrets: Mapping[str, str]) -> ServerCheckStep:
    def tidied(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: without(value, secrets) if isinstance(value, str) else value for name, value in values.items()}

    refusals = tuple(Refusal(said.code, tidied(said.parameters)) for said in step.refusals)
    return replace(step, found=tidied(step.found), refusals=refusals)


LIMIT_SECONDS = 900.0
_WORK = {"workload": "order-entry", "size_bytes": 200_000, "aa_control": False, "bb_control": False, "seed": 24}


def check_servers(request: RunRequest, observe: Callable[[Event], None], record: Path) -> ServerCheck:
    """Try every ability of an adapter on two servers of the user's.

    Args:
        request: ``--baseline`` and ``--encrypted``, and what goes with them; the work is the check's.
        record: where what is said with the servers is written to, as far as the DB-API client says it.

    Raises:
        StorageFault: that file cannot be written.
        UsageError: no two servers are named, or a DSN has faults.
        KeyboardInterrupt: Ctrl-C; the schemas are dropped all the same.
    """
    request = request.replace(**_WORK)
    dsns = external_dsns(request.baseline, request.encrypted, request.contrast)
    if dsns is None:
        raise UsageError(Refusal.of("requires", what="tdelta check-servers", needs="--baseline and --encrypted"))
    check(request)
    clock, interruption = Clock(LIMIT_SECONDS), Interruption()
    with (
        _recorded(record),
        shared_passwords(),
        interruptible(interruption, clock, clock.fault),
        Bench(request, dsns, f"server-check-{int(time.time()):x}") as bench,
    ):
        steps = tried(bench, interruption, observe)
        return _report(bench, dsns[0].engine, steps, clock.elapsed())


@contextmanager
def _recorded(record: Path) -> Iterator[None]:
    """Meanwhile every worker that is started adds what it says to a file, which is made anew."""
    try:
        record.unlink(missing_ok=True)  # one that was there may be open to others
        private(record).close()
    except OSError as error:
        raise StorageFault(Refusal.of("path-unusable", path=record, fault=error.strerror)) from error
    os.environ[VARIABLE] = str(record.absolute())
    try:
        yield
    finally:
        del os.environ[VARIABLE]


def tried(
    bench: Bench, interruption: Interruption, observe: Callable[[Event], None], steps: Iterable[AbilityCheck] = STEPS
) -> tuple[ServerCheckStep, ...]:
    """Try steps one after another, those that can be tried."""
    done: list[ServerCheckStep] = []
    for number, step in enumerate(listed := tuple(steps)):
        observe(Phase("server check", step.ability, number, len(listed)))
        passed = [one.ability for one in done if one.outcome is Outcome.PASSED]
        if interruption.is_late and not step.is_last:
            done.append(_not_tried(step, Refusal.of("server-check-time-up", seconds=LIMIT_SECONDS)))
        elif missing := lacking(step, passed):
            done.append(_not_tried(step, Refusal.of("server-check-not-tried", needs=", ".join(missing))))
        else:
            done.append(_attempted(step, bench, interruption))
    return tuple(done)


def _not_tried(step: AbilityCheck, why: Refusal) -> ServerCheckStep:
    return ServerCheckStep(step.ability, Outcome.NOT_TRIED, refusals=(why,))


def _attempted(step: AbilityCheck, bench: Bench, interruption: Interruption) -> ServerCheckStep:
    began = time.monotonic()
    try:
        made = ServerCheckStep(step.ability, Outcome.PASSED, found=step.does(bench))
    except NotOffered as absent:
        made = ServerCheckStep(step.ability, Outcome.NOT_OFFERED, refusals=(absent.refusal,))
    except Refused as refused:
        made = ServerCheckStep(step.ability, Outcome.FAILED, refusals=(refused.refusal,))
    except TdeltaError as fault:
        made = ServerCheckStep(step.ability, Outcome.FAILED, refusals=fault.refusals)
    except KeyboardInterrupt:
        if not interruption.is_late:
            raise
        said = Refusal.of("server-check-time-up", seconds=LIMIT_SECONDS)
        made = ServerCheckStep(step.ability, Outcome.FAILED, refusals=(said,))
    return replace(made, seconds=time.monotonic() - began)


def _report(bench: Bench, engine: str, steps: Iterable[ServerCheckStep], seconds: float) -> ServerCheck:
    identity = None if bench.servers is None else bench.both[0].identity
    secrets = bench.secrets
    return ServerCheck(
        engine=engine if identity is None else identity.engine,
        product="" if identity is None else identity.product,
        versions=() if identity is None else tuple(server.identity.version for server in bench.both),
        client=bench.client,
        system={"tdelta": __version__, "python": platform.python_version(), "machine": platform.machine()},
        seconds=seconds,
        steps=tuple(redacted(step, secrets) for step in steps),
    )
