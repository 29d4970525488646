from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdelta.engines.base import settings_fault
from tdelta.engines.embedded.engine import Embedded
from tdelta.engines.layout import RunLayout
from tdelta.engines.profile import EngineInfo
from tdelta.messages import Detail
from tdelta.records import Condition

from .profile import PROFILE

HEAD = b"SQLite format 3\x00"


@dataclass(frozen=True)
class ToySettings:
    cipher: str
    cache_bytes: int
    threads: int = 1
    aes_instructions: str = "on"
    is_cold: bool = False


class ToyEngine(Embedded):
    profile = PROFILE
    program = f"{__package__}.worker"
    crypto = "none"
    ciphers = ("none", "xor")
    facts = {"page_size": "PRAGMA page_size"}  # noqa: RUF012

    def versions(self) -> dict[str, str]:
        return {"toy": "1"}

    def identity(self) -> str:
        return "toy 1"

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> ToySettings:
        return ToySettings(str(condition.level("cipher")), layout.cache_bytes(condition, data_bytes))

    def opening(self, path: Path, _settings: ToySettings, key: str | None) -> dict[str, Any]:
        return {"path": str(path), "key": key or ""}

    def shows_itself(self, path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(len(HEAD)) == HEAD

    def described(self, settings: ToySettings, facts: Mapping[str, str]) -> str:
        return f"{settings.cipher}: a file that is {facts['header']}"

    def fault(self, settings: ToySettings, facts: Mapping[str, str]) -> Detail | None:
        return settings_fault(facts, {"header": "hidden" if self.needs_key(settings.cipher) else "plain"})

    def differing(self, settings: ToySettings) -> tuple[str, ...]:
        return ("key",) if self.needs_key(settings.cipher) else ()


def driver(_options: Mapping[str, Any]) -> ToyEngine:
    return ToyEngine()


def listed() -> Iterator[EngineInfo]:
    yield EngineInfo(PROFILE.name, True, "1", ToyEngine.ciphers, PROFILE.product, "")
