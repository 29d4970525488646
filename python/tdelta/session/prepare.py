"""All of a run that comes before its first round: data is loaded once for each kind of twin, and trials are sized."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tdelta.design.layout import PLAIN
from tdelta.driver import Twins
from tdelta.driver.protocol import Observable
from tdelta.errors import ServerLost
from tdelta.measure.aes import CryptoKind
from tdelta.messages import RunPart
from tdelta.records import Level, Phase
from tdelta.session.collectors.checks import Checks
from tdelta.session.context import Ready, RunContext
from tdelta.session.housing import Housing
from tdelta.session.pace import Stage
from tdelta.session.state import TrialSize
from tdelta.session.trial_size import calibrate


def prepare(context: RunContext, twins: Twins[Any], folder: Path, checks: Checks, housing: Housing) -> Ready:
    """Load and compare the rows, see which ciphers are at work, and size the trials.

    Raises:
        InvalidTwins: the twins would not hold the same rows.
        TimeFault: what is left does not fit into the run's time.
    """
    data_bytes = _load(context, twins, checks)
    with context.pace.timed(Stage.OBSERVE):
        _observe_ciphers(context, twins)
    context.require_time()
    size = _size(context, twins, data_bytes, checks, housing)
    context.require_time()
    return Ready(twins, data_bytes, size, folder, housing)


def _load(context: RunContext, twins: Twins[Any], checks: Checks) -> int:
    plan, expected = context.plan, twins.expected_checksums()
    kinds = plan.data_templates()
    data_bytes = 0
    for number, (kind, condition) in enumerate(kinds.items()):
        settings = plan.twin_settings(condition, 0)
        context.observe(Phase("load", plan.engine.template(settings).words, number, len(kinds)))
        with context.pace.timed(Stage.LOAD):
            path, sums = twins.load(settings)
            checks.loaded("/".join(map(str, kind)), sums, expected)
            checks.ciphered(str(kind[0]), is_encrypted=twins.is_encrypted(path))
        size = twins.data_bytes(path)
        context.state.data_bytes[condition.key] = size
        data_bytes = data_bytes or size
        context.require_time()
    if plan.source is not None:
        plan.source.copy.let_go()
    checks.raise_if_rows_differ()
    return data_bytes


def _observe_ciphers(context: RunContext, twins: Twins[Any]) -> None:
    """What engines really encrypt pages with, in runs of their own, before anything is measured."""
    plan, found, seen = context.plan, dict[str, str](), dict[tuple[str, Level], str]()
    is_seen = plan.engine.profile.is_server and plan.engine.crypto == CryptoKind.OPENSSL
    if not is_seen or not isinstance(twins, Observable) or context.state.ciphers is not None:
        return
    for condition in plan.data_templates().values():
        cipher, version = str(condition.level("cipher")), dict(condition.levels).get("server", "")
        if cipher != PLAIN and (cipher, version) not in seen:
            context.observe(Phase("observe", f"which cipher {cipher} is in fact"))
            seen[cipher, version] = twins.observe(plan.twin_settings(condition, 0))
    for (cipher, version), reported in seen.items():
        if not reported or not version:
            found[cipher] = reported
        elif found.get(cipher, version):  # what was not seen of one version is not said of the cipher
            found[cipher] = "; ".join(filter(None, (found.get(cipher), f"{version}: {reported}")))
    context.state.ciphers = found
    context.keep_state()


def _size(context: RunContext, twins: Twins[Any], data_bytes: int, checks: Checks, housing: Housing) -> TrialSize:
    """Find the trial's size, or take the one that an earlier sitting found; a server may be lost once meanwhile."""
    context.observe(Phase("calibrate", "how many operations fill a trial"))
    with context.pace.timed(Stage.CALIBRATE):
        found = context.state.trial_size
        try:
            found = found or calibrate(context.plan, twins, data_bytes, housing)
        except ServerLost as loss:
            checks.lost(0, RunPart.of("calibration"), loss.said)
            found = calibrate(context.plan, twins, data_bytes, housing)
    context.pace.filled(found.trial_seconds)
    context.state.trial_size = found
    context.keep_state()
    return found
