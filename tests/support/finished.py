"""Findings of trials that a test made."""

from collections.abc import Iterable
from typing import Any

from tdelta.findings.base import F, FinishedRun, Kind
from tdelta.records import RunSettings, Trial


def found(kind: Kind[F], trials: Iterable[Trial], settings: RunSettings, **more: Any) -> tuple[F, ...]:
    return kind.found(FinishedRun(settings=settings, trials=tuple(trials), **more))
