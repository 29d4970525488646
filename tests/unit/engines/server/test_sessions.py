"""A session with a user's server that is lost is opened anew, with its settings and locks; what cannot be is named."""

from collections.abc import Callable, Sequence

import pytest

from support.refused import Coded, Part, coded, has, refused
from tdelta.engines.mariadb.driver import MariaDb
from tdelta.engines.server.base import Encryption, Identity, ServerEngine
from tdelta.engines.server.discovery import FoundServer, examine
from tdelta.engines.server.dsn import parse_dsn
from tdelta.engines.server.pairs import _dropped
from tdelta.engines.server.schemas import RunSchema
from tdelta.engines.server.sessions import LastingSession, asking, one
from tdelta.engines.sqlserver.driver import SqlServer
from tdelta.errors import ExternalServerFault, InvalidTwins, ServerLost, StatementFault, TdeltaError, WorkerFault
from tdelta.messages import Refusal
from tdelta.processes.workers import Refused

MARIADB = MariaDb(Identity("mariadb", "MariaDB", "11.4.2", "app@%"))
LOCK = "SELECT GET_LOCK('x', 0)"
MARKED = "SELECT TABLE_SCHEMA"


class Session:
    """Answers by the statement's beginning; once ``lost`` is set it answers no more."""

    def __init__(self, asked: list[str], answers: dict[str, list[list[str | None]]]) -> None:
        self.asked = asked
        self.answers = answers
        self.lost: Exception | None = None

    def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
        if self.lost is not None:
            raise self.lost
        self.asked.append(sql)
        found = next((rows for start, rows in self.answers.items() if sql.startswith(start)), [])
        return ["name", "mark"], found

    def run(self, sql: str) -> None:
        self.rows(sql)

    def text(self, sql: str) -> str:
        return str(self.rows(sql)[1][0][0])

    def close(self) -> None:
        pass


class Server:
    def __init__(self, answers: dict[str, list[list[str | None]]] | None = None) -> None:
        self.asked: list[str] = []
        self.answers = answers or {}
        self.sessions: list[Session] = []
        self.refuses: Exception | None = None

    def open(self) -> Session:
        if self.refuses is not None:
            raise self.refuses
        self.sessions.append(Session(self.asked, self.answers))
        return self.sessions[-1]

    def lose(self, error: Exception) -> None:
        self.sessions[-1].lost = error


@pytest.mark.parametrize(
    "error",
    [
        Refused("connection", "gone"),
        ServerLost(Refusal.of("database-says", said="stopped")),
        WorkerFault(Refusal.of("block-silent", seconds=1)),
    ],
)
def test_a_lost_session_is_opened_anew_with_its_locks_and_asked_again(error: Exception) -> None:
    server = Server()
    session = LastingSession(server.open)
    session.keep(LOCK)
    server.lose(error)
    session.rows("SELECT 1")
    assert server.asked == [LOCK, LOCK, "SELECT 1"]
    assert len(server.sessions) == 2


def test_what_changes_something_is_not_repeated_in_a_new_session() -> None:
    server = Server()
    session = LastingSession(server.open)
    server.lose(Refused("connection", "gone"))
    with pytest.raises(Refused, match="gone"):
        session.run("DROP SCHEMA x")
    session.run("DROP SCHEMA y")
    assert server.asked == ["DROP SCHEMA y"]


def test_what_a_server_refuses_is_no_loss() -> None:
    server = Server()
    session = LastingSession(server.open)
    server.lose(Refused("denied", "no"))
    with pytest.raises(Refused, match="no"):
        session.run("SELECT 1")
    assert len(server.sessions) == 1


def test_a_server_that_lets_nobody_in_any_more_says_so() -> None:
    server = Server()
    session = LastingSession(server.open)
    server.lose(Refused("connection", "gone"))
    server.refuses = Refused("auth", "Access denied")
    with pytest.raises(Refused, match="Access denied"):
        session.rows("SELECT 1")


def schemas(server: Server, names: Sequence[str], kind: ServerEngine = MARIADB) -> list[RunSchema]:
    dsn = parse_dsn("mariadb://app@db1/", "--baseline")
    encryption = Encryption((), can_be_asked=False, remedy="")
    own = FoundServer("--baseline", dsn, LastingSession(server.open), kind, encryption, {})
    return [RunSchema(own, name, "r1", is_encrypted=None) for name in names]


def test_schemas_are_dropped_over_a_new_session() -> None:
    server = Server({MARKED: [["tdelta_r1", "tdelta run r1"], ["tdelta_r1_aa", "tdelta run r1"]]})
    made = schemas(server, ("tdelta_r1", "tdelta_r1_aa"))
    server.lose(Refused("connection", "gone"))
    assert _dropped(made) == []
    assert [sql for sql in server.asked if sql.startswith("DROP")] == [
        "DROP SCHEMA `tdelta_r1_aa`",
        "DROP SCHEMA `tdelta_r1`",
    ]


def test_an_index_that_a_load_made_and_the_catalog_does_not_have_is_named() -> None:
    server = Server({"SELECT name AS name FROM [tdelta_r1].sys.indexes": [["K_1", None]]})
    (schema,) = schemas(server, ("tdelta_r1",), SqlServer(Identity("sqlserver", "SQL Server", "16.0", "app"), None))
    made = ("CREATE INDEX k_1 ON sbtest1 (k)", "CREATE UNIQUE INDEX k_2 ON sbtest1 (id, k)")
    schema.require_indexes(made[:1])
    with refused(InvalidTwins, "indexes-missing", schema="tdelta_r1", indexes="k_2"):
        schema.require_indexes(made)
    (other,) = schemas(Server(), ("tdelta_r1",))
    other.require_indexes(made)


def test_a_schema_that_is_there_after_its_drop_is_named_as_left() -> None:
    rows = [["tdelta_r1", "tdelta run r1"]]
    server = Server({MARKED: rows, "SELECT SCHEMA_NAME": rows})
    (left,) = _dropped(schemas(server, ("tdelta_r1",)))
    assert has([left], "schema-not-dropped", schema="tdelta_r1", drop="DROP SCHEMA `tdelta_r1`")


def _locked_out(server: Server) -> None:
    server.lose(Refused("connection", "gone"))
    server.refuses = Refused("auth", "Access denied")


def _read_only(server: Server) -> None:
    server.lose(Refused("read_only", "The server is running with the --read-only option"))


@pytest.mark.parametrize("becomes", [_locked_out, _read_only])
def test_every_schema_that_cannot_be_dropped_is_named_with_what_drops_it(becomes: Callable[[Server], None]) -> None:
    server = Server()
    made = schemas(server, ("tdelta_r1", "tdelta_r1_aa"))
    becomes(server)
    left = _dropped(made)
    assert len(left) == 2
    assert has([left[0]], "schema-not-dropped", schema="tdelta_r1_aa", drop="DROP SCHEMA `tdelta_r1_aa`")
    assert has([left[1]], "schema-not-dropped", schema="tdelta_r1", drop="DROP SCHEMA `tdelta_r1`")


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("connection", ServerLost, coded("database-says", said="x", where="--baseline (app@db1:3306)")),
        ("interrupted", ServerLost, coded("database-says", said="x", where="--baseline (app@db1:3306)")),
        ("read_only", ExternalServerFault, coded("server-stopped", said="x", fix=Part("set read_only"))),
        ("full", ExternalServerFault, coded("server-stopped", said="x", fix=Part("free space on the server"))),
        ("denied", ExternalServerFault, coded("server-stopped", said="x", fix="grant the revoked privilege again")),
        ("sql", StatementFault, coded("database-answer", said="x", fix=Part("see the scripts of"))),
    ],
)
def test_what_a_server_says_under_load_is_named_as_what_it_is(kind: str, error: type[TdeltaError], said: Coded) -> None:
    (schema,) = schemas(Server(), ("tdelta_r1",))
    found = schema.server.failed(kind, "x")
    assert isinstance(found, error)
    assert has(found.refusals, said), found.refusals
    assert "--dir" not in str(found)


def test_a_server_that_answers_something_else_is_refused_with_its_own_words() -> None:
    session = Server({"SELECT": [["1", "x"]]}).open()
    row = one(asking(session, str.upper)("SELECT 1"))
    assert row["mark"] == "X"
    with pytest.raises(Refused, match="'value'"):
        row["value"]
    with pytest.raises(Refused):
        one(asking(session)("SHOW"))


def test_what_a_server_says_of_itself_does_not_steer_the_terminal() -> None:
    dsn = parse_dsn("mariadb://app@db1/", "--baseline")
    session = Server({"SELECT": [["\x1b[31mred\n", None]]}).open()
    kind = MariaDb(Identity("mariadb", "MariaDB", "11.4.2", "app@%"))
    own = FoundServer("--baseline", dsn, session, kind, Encryption((), can_be_asked=False, remedy=""), {})
    assert own.ask("SELECT 1") == [{"name": " [31mred ", "mark": None}]


def test_a_server_that_is_none_of_those_that_speak_its_protocol_is_refused() -> None:
    class Fickle(Session):
        """MySQL to whoever asks for MariaDB, and the other way round."""

        def rows(self, sql: str) -> tuple[list[str], list[list[str | None]]]:
            self.asked.append(sql)
            version = "8.4.1" if len(self.asked) == 1 else "11.4.2-MariaDB"
            return ["version", "comment", "user", "machine"], [[version, "", "a@%", "db1"]]

    with refused(ExternalServerFault, "server-changes", products=Part("MariaDB or MySQL")):
        examine("--baseline", parse_dsn("mariadb://app@db1/", "--baseline"), Fickle([], {}))
