"""The session's side of a fleet: runs are placed on nodes, and looked for when they have ended."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from tdelta.driver.agents.cluster import NODE_SECONDS, placing_seconds
from tdelta.driver.agents.host import tdelta_version
from tdelta.driver.agents.pool import RayWorker, ray_refused
from tdelta.driver.agents.site_run import GRACE_SECONDS
from tdelta.errors import EnvironmentFault, TdeltaError
from tdelta.messages import Refusal

_DISPATCHER = "tdelta.driver.agents.dispatcher"
_START_SECONDS = 180.0
"""How long Ray may take to start, or to answer, beside what is waited for."""

_PLACE_SECONDS = _START_SECONDS + NODE_SECONDS + placing_seconds(1)
_END_SECONDS = GRACE_SECONDS + 30.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has ended.

    ``lost`` says why there is no answer of it (its node died); else ``code`` is its exit code, ``pack`` its pack where
    it has a result, and ``said`` what it wrote on standard error.
    """

    name: str
    node: str
    code: int = 0
    run_id: str = ""
    pack: bytes = b""
    said: str = ""
    lost: str = ""


class Sites(RayWorker):
    """The nodes of a fleet, in whose place the dispatcher is spoken to. Use as a context manager, or call `end`.

    Args:
        address: of the Ray cluster; None: one of this machine's is made.

    Raises:
        EnvironmentFault: Ray cannot be had.
    """

    called = "the dispatcher of the fleet"

    def __init__(self, address: str | None) -> None:
        super().__init__(_DISPATCHER, address)
        self._failed = lambda kind, said: _of_fleet(ray_refused(kind, said))
        self._left_out: list[Refusal] = []
        self._said = 0
        try:
            folder = "" if self.folder is None else str(self.folder)
            self.request("start", _START_SECONDS, address=address, folder=folder)
        except BaseException:
            self.end()
            raise

    def place(self, name: str, words: list[str]) -> str | None:
        """Begin a run with the words of a command line; returns its node, None where every node has a run.

        Raises:
            EnvironmentFault: no node is left, or none of them takes runs.
        """
        own = tdelta_version()
        while "node" not in (found := self.request("place", _PLACE_SECONDS, name=name, words=words, version=own)):
            if found.get("is_none_left"):
                gone = ", ".join(found["gone"])
                lost = (
                    [Refusal.of("no-node-left", said=f"{gone} died, the others cannot run", command="the same command")]
                    if gone
                    else []
                )
                raise EnvironmentFault(*self._left_out, *lost)
            self._left_out.append(_why(own, **found["left_out"]))
        return None if found["node"] is None else str(found["node"])

    def left_out(self) -> tuple[Refusal, ...]:
        """Why nodes make no runs, of those found since this was last asked."""
        found, self._said = self._left_out[self._said :], len(self._left_out)
        return tuple(found)

    def next(self, seconds: float) -> Ended | None:
        found: dict[str, Any] = self.request("next", seconds + _START_SECONDS, patience_seconds=seconds)
        if not found:
            return None
        if "lost" in found:
            return Ended(found["name"], found["node"], lost=found["lost"])
        ok = found["ok"]
        pack = base64.b64decode(ok["pack"])
        return Ended(found["name"], found["node"], ok["code"], ok["run_id"], pack, ok["said"])

    def end(self) -> None:
        """End the runs, and Ray where it was made for the fleet; nothing of it stays."""
        self.leave(_END_SECONDS)

    def _died(self) -> TdeltaError:
        return _of_fleet(super()._died())


def _of_fleet(fault: TdeltaError) -> TdeltaError:
    """What is said of a fleet where a run by agents would be resumed."""
    for one in fault.refusals:
        if one.code == "no-node-left":
            return EnvironmentFault(Refusal.of("no-node-left", said=one.parameters["said"], command="the same command"))
        if one.code == "ray-head-lost":
            return EnvironmentFault(
                Refusal.of("ray-head-lost", said=one.parameters["said"], command="the same command")
            )
    return fault


def _why(own: str, *, node: str, version: str | None = None, said: str = "") -> Refusal:
    """Why a node is left out: it has that version of tdelta, or says so."""
    if version is None:
        return Refusal.of("node-unusable", what=f"node {node}", said=said)
    return Refusal.of("version-mismatch", what=f"node {node}", expected=f"tdelta {own}", found=version or "unknown")
