"""The family of DuckDB: every twin a file and a process of its own, driven by the load loop in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tdelta.driver import AnyJob, Mix, TwinFolder
from tdelta.driver.duckdb.twins import DuckdbTwins
from tdelta.driver.load_command.command import LoadCommand
from tdelta.engines.duckdb.engine import DuckdbEngine, DuckdbSettings
from tdelta.engines.duckdb.profile import PROFILE
from tdelta.engines.profile import Headings
from tdelta.errors import UsageError
from tdelta.evidence import FileClass
from tdelta.records import Condition, Level
from tdelta.session.families.engines import OfEngine
from tdelta.session.families.needs import Needs, analytic_needs
from tdelta.session.families.served import check_discard
from tdelta.session.families.work import check_trace, check_work

if TYPE_CHECKING:
    from tdelta.session.planning import Plan
    from tdelta.session.request import RunRequest


class AnalyticFamily(OfEngine[DuckdbEngine]):
    """DuckDB as a run sees it; see `tdelta.session.families.Family`."""

    @property
    def product(self) -> str:
        """The product, for people."""
        return self.engine.product

    @property
    def unsearched(self) -> str:
        """All can be."""
        return ""

    @property
    def nearest(self) -> Headings:
        """The bytes that the process asked the system for."""
        return PROFILE.headings

    @property
    def fills_cpus(self) -> bool:
        """A query runs on all of them."""
        return True

    @property
    def cold_operations(self) -> int | None:
        """The file is attached anew before each, so it is a matter of time only."""
        return None

    def versions(self) -> dict[str, str]:
        """DuckDB, and the module that brings OpenSSL."""
        return self.engine.versions()

    def identity(self) -> str:
        """Both with their versions."""
        return self.engine.identity()

    def checks(self, request: RunRequest, levels: Mapping[str, Sequence[Level]]) -> Iterator[Callable[[], object]]:
        """Statements metered, caches emptied, and a head that is not recorded."""
        yield partial(check_trace, request, levels)
        yield partial(check_work, request, levels, most_cold=1, product=self.product)
        yield partial(check_discard, request)

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UnknownName`` for a cipher that DuckDB does not have."""
        self.engine.check_cipher(cipher)

    def recorded_key(self, request: RunRequest, *, connects: bool) -> str | None:
        r"""Keys are given one way only.

        Raises:
            UsageError: the workload connects, which means nothing within a process.
        """
        if connects:
            raise UsageError(
                rf"\connect: {self.product} runs within the process, which connects to nothing:"
                " choose another --workload"
            )
        return request.twins.key

    def settings(self, plan: Plan, condition: Condition, data_bytes: int) -> DuckdbSettings:
        """What a condition's files and connections are made with."""
        levels, request = dict(condition.levels), plan.request
        threads, cores = int(levels["threads"]), len(os.sched_getaffinity(0))
        cache_bytes = round(float(levels.get("cache", request.twins.cache)) * data_bytes)
        return DuckdbSettings(
            cipher=str(levels["cipher"]),
            threads=threads,
            engine_threads=cores,
            memory_mib=self.engine.memory_mib(cache_bytes, threads, cores),
            aes_instructions=str(levels.get("aes_instructions", "on")),
            is_cold=plan.is_cold(condition),
        )

    def kind(self, settings: DuckdbSettings) -> tuple[str | int, ...]:
        """Files are copied among twins of one cipher."""
        return (settings.cipher,)

    def kind_words(self, settings: DuckdbSettings) -> str:
        """The same for people."""
        return settings.cipher

    def instance(self, condition: Condition) -> object:
        """Every condition has an instance of its own."""
        return condition

    def page_size(self, settings: DuckdbSettings) -> int | None:  # noqa: ARG002
        """Not set beside the floor: DuckDB does not count the blocks that it reads."""
        return None

    def floor_cipher(self, cipher: str) -> str:
        """What the floor calls a cipher."""
        return cipher

    def seen(self, cipher: str, *, is_encrypted: bool) -> str:
        """What DuckDB, the file's header and a search of it say together."""
        return f"{cipher} {'hides' if is_encrypted else 'shows'} planted rows in its file"

    def told(self, settings: DuckdbSettings, facts: Mapping[str, str]) -> str:
        """What DuckDB says of the encryption in force."""
        if facts.get("encrypted") != "true":
            return "a plain file" if settings.cipher == "none" else "NOT encrypted"
        return f"{facts['cipher']} by {facts['crypto']}"

    def fault(self, settings: DuckdbSettings, facts: Mapping[str, str]) -> str | None:
        """What is wrong with the encryption in force."""
        return self.engine.cipher_fault(settings.cipher, facts)

    def covered(self, settings: DuckdbSettings) -> frozenset[FileClass] | None:  # noqa: ARG002
        """All of a file, its log and its temporary files."""
        return None

    def can_be_searched(self, settings: DuckdbSettings) -> bool:  # noqa: ARG002
        """DuckDB encrypts before it writes."""
        return True

    def cautions(self, settings: DuckdbSettings) -> tuple[str, ...]:
        """That there is one limit of memory for all, and what mbedtls is."""
        one_limit = (
            f"DuckDB has one limit of memory for cached blocks and queries: {settings.memory_mib} MiB of it are not"
            " counted as --cache, and may hold data all the same; --cold reads from the disk"
        )
        unsafe = "mbedtls is DuckDB's software AES, which it calls unsafe to write with: a level to compare, not to use"
        told = () if settings.is_cold else (one_limit,)
        return (*told, unsafe) if self.engine.ciphers[settings.cipher].is_mbedtls else told

    def command(self, request: RunRequest, threads: Sequence[Level]) -> LoadCommand | None:  # noqa: ARG002
        """Nobody else's load runs in a worker."""
        return None

    def differing(self, settings: DuckdbSettings) -> tuple[str, ...]:
        """What ``ATTACH`` is given beyond, and whose code encrypts."""
        cipher = self.engine.ciphers[settings.cipher]
        if cipher.mode is None:
            return ()
        given = ("ENCRYPTION_KEY", f"ENCRYPTION_CIPHER {cipher.mode}")
        return (*given, "force_mbedtls_unsafe") if cipher.is_mbedtls else given

    def observes_ciphers(self) -> bool:
        """DuckDB says which cipher is in force, and a page proves it."""
        return False

    def warms_up_until_settled(self) -> bool:
        """One trial reads what fits."""
        return False

    def needs(self, plan: Plan) -> Needs:
        """Files and workers."""
        return analytic_needs(plan)

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: Mix) -> DuckdbTwins:
        """Files and workers."""
        return DuckdbTwins(self.engine, folder, job, mix)
