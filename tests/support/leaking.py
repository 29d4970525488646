"""Private servers that are searched for what each scope of their encryption leaves in the clear."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from tdelta.engines.registry import profile
from tdelta.engines.server.base import DATABASE, ServerEngine, ServerSettings, recipe_of
from tdelta.engines.server.driver import covered
from tdelta.engines.server.evidence import ServerExposure, ServerFiles
from tdelta.engines.server.sessions import Session, admin_session
from tdelta.evidence import Markers, Searched, classify
from tdelta.processes.servers.recipes import place_for
from tdelta.processes.servers.server import Server
from tdelta.records import Condition, EvidenceState, FileEvidence, Role

MARKERS = Markers.drawn(20)


def settings_of(scope: str) -> ServerSettings:
    cipher = "none" if scope == "none" else "aes-256"
    return ServerSettings(cipher, scope, cache_bytes=16 << 20, has_binlog=True, is_durable=False)


def condition(scope: str) -> Condition:
    role = Role.BASELINE if scope == "none" else Role.TREATMENT
    return Condition((("cipher", settings_of(scope).cipher), ("scope", scope)), role)


def connected(server: Server, database: str = DATABASE) -> Session:
    return admin_session({**server.recipe.connect, "database": database})


def asking(server: Server, database: str = DATABASE) -> closing[Session]:
    return closing(connected(server, database))


@contextmanager
def running(
    engine: ServerEngine, folder: Path, settings: ServerSettings, environment: Mapping[str, str] | None = None
) -> Iterator[Server]:
    key = secrets.token_hex(32) if settings.is_encrypted else None
    place = place_for(folder, getattr(engine, "socket_name", "s"))
    with Server(recipe_of(engine, place, settings, key), environment) as server:
        server.start(initialize=True)
        with asking(server, "") as first:
            for sql in engine.schema_sql(settings):
                first.run(sql)
        yield server


def searched(engine: ServerEngine, folder: Path, scope: str) -> Searched:
    settings, kind = settings_of(scope), engine.binary.kind
    with running(engine, folder / scope, settings) as server, asking(server) as connection:
        for sql in MARKERS.table_sql(profile(kind).dialect):
            connection.run(sql)
        files = ServerFiles(engine.evidence.files, server.recipe.place, server.pids, server.recipe.mount)
        exposure = ServerExposure(engine.evidence.plan, lambda: connected(server), [files], MARKERS.needles)
        with exposure.under_way():
            exposure.scan()
        exposure.scan_afterwards()
        _, counts = connection.rows("SELECT COUNT(*) FROM tdelta_marker")
    assert counts == [["512"]]
    parts, mount = engine.evidence.parts_of(engine.binary.product), server.recipe.mount
    covers = covered(parts, settings, is_folder_encrypted=mount is not None)
    return Searched(condition(scope), exposure.found(), covers)


def all_searched(engine: ServerEngine, folder: Path, scopes: Sequence[str]) -> tuple[FileEvidence, ...]:
    with ThreadPoolExecutor(3) as pool:  # most of the time a server waits for its page cleaner
        return classify(list(pool.map(lambda scope: searched(engine, folder, scope), scopes)))


def states(evidence: Sequence[FileEvidence], scope: str) -> Mapping[str, EvidenceState]:
    return {one.file_class: one.state for one in evidence if one.condition == condition(scope)}
