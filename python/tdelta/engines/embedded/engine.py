"""An engine within the process: every twin is a file, and a process that drives it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tdelta.engines.base import Engine, Template, settings_fault
from tdelta.engines.embedded.exposure import Exposure
from tdelta.engines.embedded.pricing import Pricing
from tdelta.engines.embedded.twins import EmbeddedTwins
from tdelta.engines.estimates import of_files
from tdelta.engines.layout import ResourceEstimate, RunLayout
from tdelta.errors import Defect, require_known
from tdelta.messages import Detail
from tdelta.processes import AnyJob, TwinFolder, Worker, WorkloadSpec
from tdelta.processes.backups import EngineAction, backup_checks, knobs_of
from tdelta.records import Condition, Level


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """The settings of a twin's file and connections.

    ``threads`` are connections at work at once, and ``cache_bytes`` the cache of all of them. ``given`` are values of
    `Profile.settings` that options set. ``is_cold``: trials begin with nothing of the file in any cache.
    """

    cipher: str
    threads: int = 1
    cache_bytes: int = 0
    aes_instructions: str = "on"
    is_cold: bool = False
    given: tuple[tuple[str, Any], ...] = ()


class Embedded(Engine):
    program: str
    """The module that its workers run; a host of it answers the requests of `tdelta.engines.embedded.twins`."""

    settings_type: type[EmbeddedSettings] = EmbeddedSettings

    facts: Mapping[str, str] = {}
    """Queries for what twins share besides the settings of its profile, by name."""

    checkpoint = ""
    """The statement that moves what is in the log into the file; empty where there is no log."""

    has_folders = False
    """Whether each twin needs its own folder, since not all of its files are named after the database."""

    cools_each_operation = False
    """Whether a cold trial opens the file anew before each operation, not once before the first."""

    acts_in_worker = False
    """Whether an action beside a load is done by the worker that runs the load."""

    cipher_queries: Mapping[str, str] = {}
    """Queries for what a connection says of its cipher, by name."""

    proof_cipher = ""
    """The cipher that shows whether a process has the AES instructions; empty where none does."""

    times_calls = False
    """Whether calls of its cipher can be timed."""

    def settings(self, layout: RunLayout, condition: Condition, data_bytes: int) -> Any:
        asked = [name for name, setting in self.profile.settings.items() if not setting.is_own]
        given = ((name, layout.level(condition, name)) for name in asked)
        return self.settings_type(
            cipher=str(condition.level("cipher")),
            threads=int(condition.level("threads")),
            cache_bytes=layout.cache_bytes(condition, data_bytes),
            aes_instructions=str(condition.get("aes_instructions", "on")),
            is_cold=layout.is_cold(condition),
            given=tuple((name, value) for name, value in given if value is not None),
            **self.own_settings(layout, condition),
        )

    def own_settings(self, _layout: RunLayout, _condition: Condition) -> dict[str, Any]:
        """The further fields of its ``settings_type``."""
        return {}

    def own_values(self, _settings: Any) -> Mapping[str, Any]:
        """The values of those of its profile's settings that ``is_own``."""
        return {}

    def values(self, settings: Any) -> Mapping[str, Any]:
        """The values of its profile's settings on a twin: of options, and the engine's own."""
        given, own = dict(settings.given), self.own_values(settings)
        if both := given.keys() & own.keys():
            raise Defect(f"both {self.product} and an option set {', '.join(both)}")
        return {**given, **own}

    def statements(self, settings: Any) -> list[str]:
        """The statements that apply these values on a connection."""
        return [self.profile.settings[name].sql.format(value=value) for name, value in self.values(settings).items()]

    def fact_queries(self) -> dict[str, str]:
        return {**self.facts, **{name: setting.query for name, setting in self.profile.settings.items()}}

    def unapplied(self, settings: Any, facts: Mapping[str, str]) -> Detail | None:
        """Settings of its profile that are not in force on a twin; None where all are."""
        known = self.profile.settings
        return settings_fault(facts, {name: known[name].expected(v) for name, v in self.values(settings).items()})

    def opening(self, path: Path, settings: Any, key: str | None) -> dict[str, Any]:
        """The request ``open`` to a worker: a loaded file, for trials.

        Args:
            key: 64 hexadecimal digits; None for a plain file.
        """
        raise NotImplementedError

    def making(self, path: Path, settings: Any, key: str | None) -> dict[str, Any]:
        """The request ``open`` to a worker: a file that is made and loaded."""
        return self.opening(path, settings, key)

    def shows_itself(self, path: Path) -> bool:
        """Whether a file's beginning is that of a plain database."""
        raise NotImplementedError

    def of(self, _settings: Any) -> Embedded:
        """The version that a twin is of, where a run compares several."""
        return self

    def needs_key(self, cipher: str) -> bool:
        return cipher != "none"

    def template(self, settings: Any) -> Template:
        return Template((settings.cipher,), settings.cipher)

    def file_facts(self, _path: Path) -> dict[str, str]:
        """Further properties that twins share, read from the file."""
        return {}

    def database_threads(self, settings: Any) -> int:
        """How many threads work for a load's connections, those of the load included."""
        threads: int = settings.threads
        return threads

    def exposure(self, worker: Worker, path: Path, needles: Sequence[bytes]) -> Exposure:
        """How marker rows are brought into all of a twin's files, and searched there."""
        return Exposure(worker, path, needles)

    def proved_by(self, _settings: Any) -> str:
        """The cipher that shows whether a twin's process has the AES instructions; empty where none does."""
        return self.proof_cipher

    def proof_files(self, home: Path, cipher: str, settings: Any) -> Mapping[str, object]:
        """How a worker makes a ``plain`` and an ``encrypted`` file in a folder to time pages of both."""
        raise NotImplementedError

    def pricing(self, _home: Path, _settings: Any) -> Pricing | None:
        """How the unit costs of a twin's cipher are measured with files in a folder; None where they are not."""
        return None

    file_actions: Mapping[str, EngineAction] = {}
    """Actions on its files, by the names of `tdelta.design.actions`."""

    def actions(self, factor: str) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        return knobs_of(self.file_actions, factor)

    def option_checks(
        self, options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]
    ) -> Iterable[Callable[[], object]]:
        for name, setting in self.profile.settings.items():
            kind = f"level of --{name.replace('_', '-')}"
            for level in levels.get(name, (options.get(name),)) if setting.levels else ():
                if level is not None:
                    yield partial(require_known, kind, str(level), setting.levels)
        yield from backup_checks(self.file_actions, levels.get("work", ()), levels.get("during", ()))

    def estimate(self, layout: RunLayout) -> ResourceEstimate:
        return of_files(self, layout, times_calls=self.times_calls)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: WorkloadSpec) -> EmbeddedTwins:
        return EmbeddedTwins(self, folder, job, mix)
