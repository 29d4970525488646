"""The family of the user's own servers: nothing is configured, the two are what they are, and only the load varies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tdelta.driver import AnyJob, LoadJob, Mix, TwinFolder
from tdelta.driver.load_command.command import LoadCommand
from tdelta.driver.servers.own_twins import (
    BASELINE_PLACE,
    ENCRYPTED_PLACE,
    ENCRYPTED_TABLES,
    PLAIN_TABLES,
    OwnServerTwins,
    OwnSettings,
)
from tdelta.engines.dsn import Dsn
from tdelta.engines.registry import profile
from tdelta.engines.takes import OWN_SERVERS_TAKE, Takes
from tdelta.errors import TdeltaError, UnknownName, UsageError
from tdelta.evidence import FileClass
from tdelta.inference.traces import Nearest
from tdelta.records import Condition, Level
from tdelta.session.families.needs import Needs, own_needs
from tdelta.session.families.served import CLIENT_FACTORS, check_discard
from tdelta.session.own_servers import OwnServers, place_of
from tdelta.workloads.dialect import Dialect

if TYPE_CHECKING:
    from tdelta.session.planning import Plan
    from tdelta.session.request import RunRequest

PLAIN, OWN_CIPHER = "none", "encrypted"
"""The levels of ``cipher``: which of the two servers; which cipher that is, only its owner knows."""


class OwnFamily:
    """Two servers of the user's as a run sees them; see `tdelta.session.families.Family`.

    Args:
        dsns: the baseline's, the encrypted one's.
        servers: both as they were found; None while a request is only checked.
    """

    def __init__(self, dsns: tuple[Dsn, Dsn], servers: OwnServers | None) -> None:
        self._dsns = dsns
        self._servers = servers

    @property
    def engine(self) -> OwnServers | None:
        """The servers."""
        return self._servers

    @property
    def name(self) -> str:
        """The engine's name, as the servers tell it: MariaDB answers to MySQL's protocol, too."""
        return self._dsns[0].engine if self._servers is None else self._servers.pair.baseline.identity.engine

    @property
    def product(self) -> str:
        """The product, for people."""
        return self.name if self._servers is None else self._servers.pair.baseline.identity.product

    @property
    def dialect(self) -> Dialect:
        """Whose SQL it speaks."""
        return profile(self.name).dialect

    @property
    def crypto(self) -> str:
        """Whose code encrypts is the owner's affair."""
        return "unknown"

    @property
    def ciphers(self) -> tuple[str, ...]:
        """The two servers."""
        return PLAIN, OWN_CIPHER

    @property
    def unsearched(self) -> str:
        """No file is read."""
        return (
            "servers of yours are asked by SQL alone; what their catalogs say of the tables is in the check of ciphers"
        )

    @property
    def takes(self) -> frozenset[Takes]:
        """Nothing that says how a server is made, or what it holds; nor loads, which would need its password."""
        return OWN_SERVERS_TAKE

    @property
    def settings_told(self) -> str | None:
        """Compared once, before the run."""
        differing = 0 if self._servers is None else len(self._servers.pair.differences)
        if not differing:
            return "in all that both servers tell, but for encryption, paths and names"
        return f"NOT the same: {differing} that are not encryption differ between the two servers, as the cautions say"

    @property
    def fills_cpus(self) -> bool:
        """One connection is one thread, or little more."""
        return False

    @property
    def nearest(self) -> Nearest:
        """Nothing is traced on servers of others."""
        return {}

    @property
    def cold_operations(self) -> int:
        """The first only: those behind it find what it brought."""
        return 1

    def versions(self) -> dict[str, str]:
        """What both servers say."""
        return {server.option: server.identity.described for server in self._reached.both}

    def identity(self) -> str:
        """The servers with their versions."""
        return self._reached.identity()

    def checks(
        self,
        request: RunRequest,
        levels: Mapping[str, Sequence[Level]],  # noqa: ARG002 - as every family
    ) -> Iterator[Callable[[], object]]:
        """A head that is not recorded, and the engine."""
        yield partial(check_discard, request)
        yield partial(_check_engine, request, self._dsns)

    def check_cipher(self, cipher: str) -> None:
        """Raise ``UnknownName`` for anything but the two servers."""
        if cipher not in self.ciphers:
            raise UnknownName("cipher of a server of yours", cipher, self.ciphers)

    def recorded_key(self, request: RunRequest, *, connects: bool) -> str | None:  # noqa: ARG002
        """Keys are the owner's affair."""
        return request.twins.key

    def settings(self, plan: Plan, condition: Condition, data_bytes: int) -> OwnSettings:  # noqa: ARG002
        """Which server, which schema, how many connections."""
        cipher = str(condition.level("cipher"))
        return OwnSettings(
            cipher=cipher,
            place=place_of(condition, plan.request.design.plant),
            threads=int(condition.level("threads")),
            loaded=BASELINE_PLACE if cipher == PLAIN else ENCRYPTED_PLACE,
        )

    def kind(self, settings: OwnSettings) -> tuple[str | int, ...]:
        """The server."""
        return (settings.cipher,)

    def kind_words(self, settings: OwnSettings) -> str:
        """The server, for people."""
        return "the baseline's server" if settings.cipher == PLAIN else "the encrypted server"

    def instance(self, condition: Condition) -> object:
        """Conditions share a schema where only the client differs."""
        levels = tuple((name, level) for name, level in condition.levels if name not in CLIENT_FACTORS)
        return condition.role, condition.planted, levels

    def page_size(self, settings: OwnSettings) -> int | None:  # noqa: ARG002
        """Not set beside the floor: the cipher is not known."""
        return None

    def floor_cipher(self, cipher: str) -> str:
        """What the floor calls a cipher."""
        return cipher

    def seen(self, cipher: str, *, is_encrypted: bool) -> str:
        """What the server's catalog says of the tables, where it can tell."""
        expected = self._expected(cipher)
        if expected is None:
            return f"{cipher}: {'as the user says' if is_encrypted else 'plain, as the user says'}"
        return f"{cipher}: {ENCRYPTED_TABLES if expected else PLAIN_TABLES} tables by the server's catalog"

    def told(self, settings: OwnSettings, facts: Mapping[str, str]) -> str:  # noqa: ARG002
        """What the server says of each kind of file, and its catalog of the tables."""
        return ", ".join(f"{name} {value or 'nothing'}" for name, value in facts.items())

    def fault(self, settings: OwnSettings, facts: Mapping[str, str]) -> str | None:
        """Tables that are not as they have to be."""
        expected = self._expected(settings.cipher)
        wanted = ENCRYPTED_TABLES if expected else PLAIN_TABLES
        if expected is None or facts["tables"] == wanted:
            return None
        return f"expected {wanted} tables, found by the server's catalog: {facts['tables']}"

    def covered(self, settings: OwnSettings) -> frozenset[FileClass] | None:  # noqa: ARG002
        """Never asked: nothing is searched."""
        return None

    def can_be_searched(self, settings: OwnSettings) -> bool:  # noqa: ARG002
        """No file is read."""
        return False

    def cautions(self, settings: OwnSettings) -> tuple[str, ...]:  # noqa: ARG002
        """They are of the pair, and the plan has them."""
        return ()

    def command(self, request: RunRequest, threads: Sequence[Level]) -> LoadCommand | None:  # noqa: ARG002
        """None: somebody else's program would need the password."""
        return None

    def differing(self, settings: OwnSettings) -> tuple[str, ...]:
        """What the encrypted server says of its encryption, scope by scope."""
        if settings.cipher == PLAIN:
            return ()
        scopes = self._reached.pair.encrypted.encryption.scopes
        return tuple(f"{scope.name}: {scope.said}" for scope in scopes if scope.is_encrypted)

    def observes_ciphers(self) -> bool:
        """Nothing is looked into."""
        return False

    def needs(self, plan: Plan) -> Needs:
        """Connections; the rows go to the user's own disks."""
        return own_needs(plan)

    def warms_up_until_settled(self) -> bool:
        """A server's buffer pool takes many trials to fill."""
        return True

    def make_twins(self, folder: TwinFolder, job: AnyJob, mix: Mix) -> OwnServerTwins:  # noqa: ARG002
        """Connections to both servers."""
        if not isinstance(job, LoadJob):
            raise TdeltaError("a database of the user's cannot be loaded into a server of the user's")
        return OwnServerTwins(self._reached.schemas, self._reached.access, job, mix)

    @property
    def _reached(self) -> OwnServers:
        if self._servers is None:
            raise TdeltaError("the servers were not reached yet")
        return self._servers

    def _expected(self, cipher: str) -> bool | None:
        pair = self._reached.pair
        return pair.expected(pair.baseline if cipher == PLAIN else pair.encrypted)


def _check_engine(request: RunRequest, dsns: tuple[Dsn, Dsn]) -> None:
    if request.tested.engine not in {dsn.engine for dsn in dsns}:
        raise UsageError(f"--engine {request.tested.engine}: the DSNs say {dsns[0].engine}; leave --engine out")
