from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.base import settings_fault
from tdelta.engines.embedded.engine import Embedded, EmbeddedSettings
from tdelta.engines.profile import EngineInfo
from tdelta.messages import Detail

from .profile import PROFILE

HEAD = b"SQLite format 3\x00"


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

    def opening(self, path: Path, _settings: EmbeddedSettings, key: str | None) -> dict[str, Any]:
        return {"path": str(path), "key": key or ""}

    def shows_itself(self, path: Path) -> bool:
        with path.open("rb") as file:
            return file.read(len(HEAD)) == HEAD

    def described(self, settings: EmbeddedSettings, facts: Mapping[str, str]) -> str:
        return f"{settings.cipher}: a file that is {facts['header']}"

    def fault(self, settings: EmbeddedSettings, facts: Mapping[str, str]) -> Detail | None:
        return settings_fault(facts, {"header": "hidden" if self.needs_key(settings.cipher) else "plain"})

    def differing(self, settings: EmbeddedSettings) -> tuple[str, ...]:
        return ("key",) if self.needs_key(settings.cipher) else ()


def driver(_options: Mapping[str, Any]) -> ToyEngine:
    return ToyEngine()


def listed() -> Iterator[EngineInfo]:
    yield EngineInfo(PROFILE.name, True, "1", ToyEngine.ciphers, PROFILE.product, "")
