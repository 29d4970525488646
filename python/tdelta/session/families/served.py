"""The family of servers: every instance a private server, shared by the conditions that differ in the client only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tdelta.driver import AnyJob, Mix, TwinFolder
from tdelta.driver.load_command.command import LoadCommand, parse_load
from tdelta.driver.servers.twins import ServerTwins
from tdelta.engines.registry import profile
from tdelta.engines.servers import PLAIN_SCOPE, ServerEngine, ServerSettings
from tdelta.engines.shared.promises import covered
from tdelta.errors import UnknownName, UsageError
from tdelta.evidence import FileClass
from tdelta.inference.traces import Nearest
from tdelta.measure.aes import CryptoKind
from tdelta.records import Condition, Level
from tdelta.session.families.engines import OfEngine
from tdelta.session.families.needs import Needs, served_needs
from tdelta.session.families.work import check_trace, check_work

if TYPE_CHECKING:
    from tdelta.session.planning import Plan
    from tdelta.session.request import RunRequest

CLIENT_FACTORS = ("threads", "at")
"""Factors that a server does not see: conditions that differ in these only share an instance."""

_WIDEST = "all"
_BESIDE_A_LOAD = 8
"""Connections beside those of a load: the one that reads counters, and those that hold markers in files."""


class ServedFamily(OfEngine[ServerEngine]):
    """One server engine as a run sees it; see `tdelta.session.families.Family`."""

    @property
    def product(self) -> str:
        """The product, for people."""
        return self.engine.binary.product

    @property
    def unsearched(self) -> str:
        """A user's encrypted folder is below what can be read."""
        return "the kernel shows their files as it decrypts them"

    def versions(self) -> dict[str, str]:
        """The server's own."""
        return {self.engine.binary.product: self.engine.binary.version}

    def identity(self) -> str:
        """The program's path, and what it says of itself."""
        return f"{self.engine.binary.path}: {self.engine.binary.text}"

    def checks(self, request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> Iterator[Callable[[], object]]:
        """The options of servers."""
        scopes = levels.get("scope", () if request.twins.scope is None else (request.twins.scope,))
        yield from (partial(self._check_scope, str(scope)) for scope in scopes)
        yield partial(check_discard, request)
        yield partial(check_trace, request, levels)
        yield partial(check_work, request, levels, most_cold=None, product=self.product)
        yield partial(_check_load, request, levels, self.name)

    @property
    def nearest(self) -> Nearest:
        """As the adapter has it."""
        return self.engine.tracing.nearest

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UnknownName`` for a cipher that this engine does not have."""
        if cipher not in self.engine.ciphers:
            raise UnknownName("cipher", cipher, self.engine.ciphers)

    def recorded_key(self, request: RunRequest, *, connects: bool) -> str | None:  # noqa: ARG002
        """Servers take their keys one way only."""
        return request.twins.key

    def settings(self, plan: Plan, condition: Condition, data_bytes: int) -> ServerSettings:
        """What a condition's servers and connections are made with."""
        levels, request = dict(condition.levels), plan.request
        cipher = str(levels["cipher"])
        scope = PLAIN_SCOPE if cipher == "none" else str(levels.get("scope", request.twins.scope or self._widest()))
        sharing = [c for c in plan.conditions if self.instance(c) == self.instance(condition)]
        return ServerSettings(
            cipher=cipher,
            scope=scope,
            threads=int(levels["threads"]),
            connections=sum(int(c.level("threads")) + _BESIDE_A_LOAD for c in sharing),
            cache_bytes=round(float(levels.get("cache", request.twins.cache)) * data_bytes),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            has_binlog=any(scope in ("+binlog", "all") for scope in self._scopes(plan)),
            is_cold=plan.is_cold(condition),
            has_steps=bool(plan.step(condition)),
        )

    def kind(self, settings: ServerSettings) -> tuple[str | int, ...]:
        """Data is copied among twins of one cipher and scope."""
        return settings.cipher, settings.scope

    def kind_words(self, settings: ServerSettings) -> str:
        """The same for people."""
        return "plain" if settings.scope == PLAIN_SCOPE else f"{settings.cipher}, scope {settings.scope}"

    def instance(self, condition: Condition) -> object:
        """Conditions share a server where only the client differs; an A/A or planted twin has one of its own."""
        levels = tuple((name, level) for name, level in condition.levels if name not in CLIENT_FACTORS)
        return condition.role, condition.planted, levels

    def page_size(self, settings: ServerSettings) -> int | None:  # noqa: ARG002
        """Not set beside the floor: what a server decrypts is not only pages of one size."""
        return None

    def floor_cipher(self, cipher: str) -> str:
        """What the floor calls a cipher."""
        return cipher

    def seen(self, cipher: str, *, is_encrypted: bool) -> str:
        """Whether planted rows can be read in the stopped server's tables."""
        return f"{cipher} {'hides' if is_encrypted else 'shows'} planted rows in its tables"

    def told(self, settings: ServerSettings, facts: Mapping[str, str]) -> str:  # noqa: ARG002
        """What the server's catalog says of its encryption."""
        return ", ".join(f"{name} {value or 'nothing'}" for name, value in facts.items())

    def fault(self, settings: ServerSettings, facts: Mapping[str, str]) -> str | None:
        """What is wrong with the encryption in force."""
        return self.engine.cipher_fault(settings, facts)

    def covered(self, settings: ServerSettings) -> frozenset[FileClass] | None:
        """What the scope covers."""
        parts = self.engine.evidence.parts_of(self.engine.binary.product)
        return covered(parts, settings, is_folder_encrypted=self.engine.encrypts_folder(settings))

    def can_be_searched(self, settings: ServerSettings) -> bool:
        """As the engine says."""
        return self.engine.can_be_searched(settings)

    def cautions(self, settings: ServerSettings) -> tuple[str, ...]:
        """As the engine says."""
        return self.engine.cautions(settings)

    def command(self, request: RunRequest, threads: Sequence[Level]) -> LoadCommand | None:
        """As asked with ``--load``."""
        return load_command(request, self.name, threads)

    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        """As the engine says."""
        return self.engine.differing_settings(settings)

    def observes_ciphers(self) -> bool:
        """Where the server asks OpenSSL as a shared library."""
        return self.engine.crypto == CryptoKind.OPENSSL

    def warms_up_until_settled(self) -> bool:
        """A server's buffer pool takes many trials to fill."""
        return True

    def needs(self, plan: Plan) -> Needs:
        """Servers, whose instances are shared, and workers."""
        return served_needs(plan, self.engine.footprint)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: Mix) -> ServerTwins:
        """Private servers and workers."""
        return ServerTwins(self.engine, folder, job, mix)

    def _widest(self) -> str:
        return _WIDEST if _WIDEST in self.engine.scopes else self.engine.scopes[-1]

    def _scopes(self, plan: Plan) -> set[str]:
        encrypted = [c for c in plan.conditions if c.level("cipher") != "none"]
        return {str(dict(c.levels).get("scope", plan.request.twins.scope or self._widest())) for c in encrypted}

    def _check_scope(self, scope: str) -> None:
        if scope not in self.engine.scopes:
            raise UsageError(f"scope {scope}: {self.product} has {', '.join(self.engine.scopes)}")


def _check_load(request: RunRequest, levels: Mapping[str, Sequence[Level]], engine: str) -> None:
    if request.work.load is None:
        if request.work.load_operations is not None:
            raise UsageError("--load-operations: expected --load with it")
        return
    given = {"--rate": request.work.rate, "--at": request.work.at, "--plant": request.design.plant}
    wrong = [flag for flag, value in given.items() if value]
    wrong += ["--vary at"] if "at" in levels else []
    if wrong:
        raise UsageError(f"{', '.join(wrong)}: of tdelta's own loop only, and --load is another's; leave it out")
    load_command(request, engine, levels.get("threads", (request.work.threads,)))


def load_command(request: RunRequest, engine: str, threads: Sequence[Level]) -> LoadCommand | None:
    """The user's load command, checked; None where the workload's transactions are the load.

    Raises:
        LoadCommandError: all that is wrong with it.
    """
    if request.work.load is None:
        return None
    levels = [int(level) for level in threads]
    return parse_load(
        request.work.load, profile(engine).protocol, threads_levels=levels, operations=request.work.load_operations
    )


def check_discard(request: RunRequest) -> None:
    """Raise ``UsageError`` for a head that is not recorded as long as the trial."""
    if (
        request.design.discard_seconds is not None
        and not 0 <= request.design.discard_seconds < request.design.trial_seconds
    ):
        raise UsageError(
            f"--discard {request.design.discard_seconds:g}s: expected less than a trial, which takes"
            f" {request.design.trial_seconds:g} s (--trial-seconds)"
        )
