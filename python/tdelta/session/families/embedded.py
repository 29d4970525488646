"""The embedded family: SQLite in each of its libraries, every twin a file and a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tdelta.driver import AnyJob, Mix, SqliteTwins, TwinFolder
from tdelta.driver.load_command.command import LoadCommand
from tdelta.engines.sqlite.engine import SqliteEngine, TwinSettings
from tdelta.engines.sqlite.profile import PROFILE
from tdelta.evidence import FileClass
from tdelta.inference.traces import Nearest
from tdelta.records import Condition, Level
from tdelta.session.families.engines import OfEngine
from tdelta.session.families.needs import Needs, embedded_needs
from tdelta.session.families.work import check_trace, check_work
from tdelta.session.source import DatabaseSource

if TYPE_CHECKING:
    from tdelta.session.planning import Plan
    from tdelta.session.request import RunRequest

DEFAULT_PAGE_SIZE = 4096


class EmbeddedFamily(OfEngine[SqliteEngine]):
    """One SQLite library as a run sees it; see `tdelta.session.families.Family`."""

    @property
    def product(self) -> str:
        """The library, for people."""
        return self.engine.library.product

    @property
    def unsearched(self) -> str:
        """All can be."""
        return ""

    def versions(self) -> dict[str, str]:
        """The library's wheel."""
        return self.engine.library.versions()

    def identity(self) -> str:
        """The wheel with its version, or the file with its digest."""
        return self.engine.library.identity()

    def checks(self, request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> Iterator[Callable[[], object]]:
        """The options of SQLite."""
        yield partial(self.engine.check_synchronous, request.twins.synchronous)
        yield partial(self.engine.check_temp_store, request.twins.temp_store)
        yield partial(self.engine.key_kind, request.twins.key, connects=False)
        yield partial(self._check_reserve, request, levels)
        yield partial(check_trace, request, levels)
        yield partial(check_work, request, levels, most_cold=None, product=self.product)

    @property
    def nearest(self) -> Nearest:
        """What SQLite's page cache of the connection counts."""
        return PROFILE.headings

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UsageError`` for a cipher that this library does not have."""
        self.engine.check_ciphers([cipher])

    def recorded_key(self, request: RunRequest, *, connects: bool) -> str | None:
        """How keys are given, where there is a choice."""
        if not self.engine.has_choice_of_keys():
            return request.twins.key
        return self.engine.key_kind(request.twins.key, connects=connects)

    def settings(self, plan: Plan, condition: Condition, data_bytes: int) -> TwinSettings:
        """What a condition's files and connections are made with."""
        levels, request = dict(condition.levels), plan.request
        cipher = str(levels["cipher"])
        return TwinSettings(
            cipher=cipher,
            page_size=int(levels.get("page_size", _page_size(plan))),
            journal_mode=str(levels.get("journal_mode", request.twins.journal_mode)),
            synchronous=request.twins.synchronous,
            reserved_bytes=self._reserved_bytes(plan, cipher),
            threads=int(levels["threads"]),
            cache_bytes=round(float(levels.get("cache", request.twins.cache)) * data_bytes),
            key_kind=self.engine.key_kind(request.twins.key, connects=plan.workload.connects),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            temp_store=request.twins.temp_store,
            is_cold=plan.is_cold(condition),
        )

    def kind(self, settings: TwinSettings) -> tuple[str | int, ...]:
        """Files are copied among twins of one cipher and page size."""
        return settings.cipher, settings.page_size

    def kind_words(self, settings: TwinSettings) -> str:
        """The same for people."""
        return f"{settings.cipher}, pages of {settings.page_size} bytes"

    def instance(self, condition: Condition) -> object:
        """Every condition has an instance of its own."""
        return condition

    def page_size(self, settings: TwinSettings) -> int | None:
        """The bytes of a page of an encrypted twin."""
        return settings.page_size if self.engine.needs_key(settings.cipher) else None

    def floor_cipher(self, cipher: str) -> str:
        """What the floor calls a cipher."""
        return self.engine.floor_cipher(cipher)

    def seen(self, cipher: str, *, is_encrypted: bool) -> str:
        """Whether a plain database's header is there."""
        return f"{cipher} {'hides' if is_encrypted else 'shows'} its header"

    def told(self, settings: TwinSettings, facts: Mapping[str, str]) -> str:
        """What the library says of the cipher in force."""
        if settings.cipher == "none":
            return "a plain file"
        return ", ".join(f"{name} {facts[name]}" for name in self.engine.ciphers[settings.cipher].in_force)

    def fault(self, settings: TwinSettings, facts: Mapping[str, str]) -> str | None:
        """What is wrong with the cipher in force."""
        return self.engine.cipher_fault(settings.cipher, facts)

    def covered(self, settings: TwinSettings) -> frozenset[FileClass] | None:  # noqa: ARG002 - as every family
        """All of a file, its log and its temporary files."""
        return None

    def can_be_searched(self, settings: TwinSettings) -> bool:  # noqa: ARG002 - as every family
        """The library encrypts before it writes."""
        return True

    def cautions(self, settings: TwinSettings) -> tuple[str, ...]:  # noqa: ARG002 - as every family
        """Nothing."""
        return ()

    def command(self, request: RunRequest, threads: Sequence[Level]) -> LoadCommand | None:  # noqa: ARG002
        """Nobody else's load runs in a worker."""
        return None

    def differing(self, settings: TwinSettings) -> tuple[str, ...]:
        """The cipher itself, by the name it has here: its settings are in the check of the cipher in force."""
        return (f"cipher {settings.cipher}",) if self.engine.needs_key(settings.cipher) else ()

    def observes_ciphers(self) -> bool:
        """The library says which cipher is in force, and a page proves it."""
        return False

    def warms_up_until_settled(self) -> bool:
        """A file's cache is the worker's own and small: one trial."""
        return False

    def needs(self, plan: Plan) -> Needs:
        """Files and workers."""
        return embedded_needs(plan, times_calls=self.engine.calls_openssl)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: Mix) -> SqliteTwins:
        """Files and workers."""
        return SqliteTwins(self.engine, folder, job, mix)

    def _reserved_bytes(self, plan: Plan, cipher: str) -> int:
        policy = plan.request.twins.reserve
        wanted = self.engine.reserved_bytes(plan.ciphers, policy)[cipher]
        source = plan.source
        if not isinstance(source, DatabaseSource):
            return wanted
        return source.reserved_bytes(wanted, is_shared=policy == "equal" or cipher == "none")

    def _check_reserve(self, request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> None:
        known = [cipher for cipher in map(str, levels.get("cipher", ())) if cipher in self.engine.ciphers]
        asked = DEFAULT_PAGE_SIZE if request.twins.page_size is None else request.twins.page_size
        for page_size in levels.get("page_size", (asked,)):
            self.engine.check_reserve(
                ["none", *known], request.twins.reserve, page_size if isinstance(page_size, int) else 0
            )


def _page_size(plan: Plan) -> int:
    source = plan.source
    own = source.layout.page_size if isinstance(source, DatabaseSource) else DEFAULT_PAGE_SIZE
    return own if plan.request.twins.page_size is None else plan.request.twins.page_size
