"""DSNs: what they say, what is wrong with them, and that no password gets anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.engines.server.dsn import Dsn, parse_dsn
from tdelta.errors import DsnFault


def faults(text: str) -> tuple[str, ...]:
    with pytest.raises(DsnFault) as caught:
        parse_dsn(text, "--baseline")
    assert "--baseline" in str(caught.value)
    return tuple(map(str, caught.value.refusals))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://app@db1", Dsn("mysql", "app", "db1", 3306, tls="require")),
        ("mariadb://app@localhost:3307/", Dsn("mariadb", "app", "localhost", 3307)),
        ("postgres://app@127.0.0.1", Dsn("postgres", "app", "127.0.0.1", 5432, database="app")),
        ("postgresql://app@db1/my%2Fbase", Dsn("postgres", "app", "db1", 5432, database="my/base", tls="require")),
        ("mysql://a%40b%3Ac@[::1]:33", Dsn("mysql", "a@b:c", "::1", 33)),
        ("mysql://app@[2001:db8::1]?tls=disable", Dsn("mysql", "app", "2001:db8::1", 3306)),
        ("mysql://app@/?socket=/run/my%20sql.sock", Dsn("mysql", "app", "", 3306, "/run/my sql.sock")),
        ("mysql://app@%2Frun%2Fm.sock", Dsn("mysql", "app", "", 3306, "/run/m.sock")),
        ("postgres://app@:5433/b?socket=/run/pg", Dsn("postgres", "app", "", 5433, "/run/pg/.s.PGSQL.5433", "b")),
        ("postgres://a@%2Frun%2Fpg/b", Dsn("postgres", "a", "", 5432, "/run/pg/.s.PGSQL.5432", "b")),
        ("postgres://a@/b?socket=/x/.s.PGSQL.1", Dsn("postgres", "a", "", 5432, "/x/.s.PGSQL.1", "b")),
        (
            "mysql://app@db1?tls-ca=/etc/ca.pem&password-env=DB_PASSWORD",
            Dsn("mysql", "app", "db1", 3306, tls="verify-full", tls_ca="/etc/ca.pem", password_env="DB_PASSWORD"),  # noqa: S106
        ),
        ("oracle://app@db1/PDB1", Dsn("oracle", "app", "db1", 1521, database="PDB1")),
        ("oracle://app@db1/P?tls=require", Dsn("oracle", "app", "db1", 2484, database="P", tls="require")),
        ("oracle://app@db1:99/P?tls=require", Dsn("oracle", "app", "db1", 99, database="P", tls="require")),
        ("oracle://app@db1/P?tls-ca=c", Dsn("oracle", "app", "db1", 2484, database="P", tls="verify-full", tls_ca="c")),
        ("oracle://app@[::1]/P?client=thick", Dsn("oracle", "app", "::1", 1521, database="P", client="thick")),
        ("postgres://app@[::1]/b?client=dbapi", Dsn("postgres", "app", "::1", 5432, database="b", client="dbapi")),
        (
            "mysql://app@db1?tls=verify-ca&tls-ca=ca.pem&password-file=pass%26word",
            Dsn("mysql", "app", "db1", 3306, tls="verify-ca", tls_ca="ca.pem", password_file="pass&word"),  # noqa: S106
        ),
    ],
)
def test_a_dsn_says_where_who_and_how_and_reads_the_same_when_written_out(text: str, expected: Dsn) -> None:
    assert parse_dsn(text) == expected
    assert parse_dsn(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mysql://app@", ["expected a host"]),
        (f"mysql://{'u' * 5000}@db1", ["expected at most 4,096 characters"]),
        ("mysql://db1", ["expected a user"]),
        ("mysql://app@db1/shop", ["expected no database"]),
        ("mysql://app@db1:0", ["port: expected a number from 1 to 65535"]),
        ("mysql://app@db1:65536", ["port: expected a number"]),
        ("mysql://app@db1:x", ["port: expected a number"]),
        ("mysql://app@db1,db2", ["expected one host"]),
        ("mysql://app@::1", ["expected one host, or an IPv6 address"]),
        ("mysql://app@[db1]", ["host: expected an IPv6 address"]),
        ("mysql://app@db1?tls=yes", ["tls: expected one of disable, require, verify-ca, verify-full"]),
        ("mysql://app@db1?tls=verify-full", ["tls=verify-full requires tls-ca=PATH"]),
        ("mysql://app@db1?tls=require&tls-ca=x", ["?tls-ca= cannot be combined with tls=require"]),
        ("sqlserver://app@db1?tls=verify-full&tls-ca=x", ["not supported by sqlserver: ?tls-ca="]),
        ("mysql://app@/?socket=/s&tls=require", ["?tls= cannot be combined with a Unix socket"]),
        ("mysql://app@db1?socket=/s", ["a host cannot be combined with ?socket="]),
        ("mysql://app@/?socket=s", ["socket: expected an absolute path"]),
        (f"mysql://app@/?socket=/{'x' * 107}", ["socket: expected at most 107 bytes"]),
        ("mysql://app@db1?sslmode=require", ["unknown parameter 'sslmode'. Did you mean tls?"]),
        ("mysql://app@db1?pasword-file=x", ["unknown parameter 'pasword-file'. Did you mean password-file?"]),
        ("mysql://app@db1?client=odbc", ["client: expected dbapi"]),
        ("oracle://app@db1?client=dbapi", ["database: expected a service", "client: expected thick"]),
        ("mysql://app@db1?zzz=1", ["unknown parameter 'zzz'. Expected one of socket"]),
        ("mysql://app@db1?tls=require&tls=require", ["tls: it is given more than once"]),
        ("mysql://app@db1?tls", ["tls: expected a value"]),
        ("mysql://app@db1#x", ["expected %23 for '#'"]),
        ("mysql://a%zz@db1", ["user: expected %25 for '%'"]),
        ("mysql://a%ff@db1", ["user: expected UTF-8"]),
        ("mysql://a%0a@db1", ["user: expected no control characters"]),
        ("mysql://app@db1?password-env=A-B", ["password-env: expected an environment variable"]),
        ("mysql://app@db1?password-env=A&password-file=b", ["password-env cannot be combined with password-file"]),
        ("db2luw://app@db1", ["expected ENGINE://USER@HOST:PORT/"]),
        ("db1", ["expected ENGINE://USER@HOST:PORT/"]),
        (
            "mysql://:@db1:70000/x?tls=no&y=1",
            ["unknown", "expected no ':'", "expected a user", "port", "no database", "tls"],
        ),
    ],
)
def test_all_faults_of_a_dsn_are_told_at_once(text: str, expected: list[str]) -> None:
    found = faults(text)
    assert len(found) == len(expected), found
    for said, start in zip(found, expected, strict=True):
        assert start in said


@pytest.mark.parametrize(
    "text",
    [
        "mysql://app:s3cr3t@db1",
        "mysql://app:s3cr3t@db1:99999/x",
        "mysql://app:s3cr3t/more@db1",
        "mysql://app:s3cr3t#more@db1",
        "mysql://app:more?s3cr3t@db1",
        "mysql://app:a@s3cr3t@db1",
        "mysql://app:s3cr3t",
        "mysql://app@db1?password=s3cr3t",
        "mysql://app@db1?passwd=s3cr3t",
        "postgres://app:s3cr3t@db1/x",
        "mysql:app:s3cr3t@db1",
    ],
)
def test_a_password_in_a_dsn_is_refused_and_not_repeated(text: str) -> None:
    said = "\n".join(faults(text))
    assert "s3cr3t" not in said
    if text.startswith("mysql://app:s3cr3t@"):
        assert "?password-env=NAME" in said
        assert "?password-file=PATH" in said


def test_the_client_decides_which_program_connects() -> None:
    programs = [parse_dsn(f"mysql://app@db1/{query}").program for query in ("", "?client=dbapi")]
    assert programs == ["tdelta.processes.worker", "tdelta.engines.server.mysql_dbapi"]


_PASSWORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=12).filter(
    lambda text: len(set(text)) > 8
)


@given(_PASSWORDS, st.sampled_from(["mysql", "mariadb", "postgres"]), st.sampled_from(["db1", "[::1]:33", "db1:3/x"]))
def test_no_password_whatever_it_is_made_of_is_repeated_by_a_fault(password: str, engine: str, host: str) -> None:
    said = "\n".join(faults(f"{engine}://app:{password}@{host}"))
    pieces = (password[at : at + 5] for at in range(len(password) - 4))
    known = "\n".join(
        (*faults("mysql://app:x@db1/y?z=1#1"), *faults("mysql://app:x/@db1"), *faults("x"), *faults("mysql://:@a,b"))
    )
    assert not [piece for piece in pieces if piece in said and piece not in known]


@given(st.text(max_size=60) | st.from_regex(r"[a-z%25]{1,5}@[^/?#@]{1,9}(/\?[a-z=&/-]*)?", fullmatch=True))
def test_whatever_is_typed_is_a_dsn_or_a_fault(text: str) -> None:
    try:
        found = parse_dsn(f"mysql://{text}")
    except DsnFault:
        return
    assert parse_dsn(str(found)) == found


def test_options_are_those_of_a_native_twin_and_the_password_is_in_nothing_else() -> None:
    dsn = parse_dsn("postgres://app@db1:5433/base?tls=require")
    assert dsn.options("s3cr3t", setup=["SET x = 1"]) == {
        "protocol": "postgres",
        "host": "db1",
        "port": 5433,
        "user": "app",
        "password": "s3cr3t",
        "database": "base",
        "tls": "require",
        "setup": ["SET x = 1"],
    }
    by_socket = parse_dsn("mysql://app@/?socket=/s")
    assert by_socket.options(None, database="tdelta_1") == {
        "protocol": "mysql",
        "socket": "/s",
        "port": 3306,
        "user": "app",
        "database": "tdelta_1",
        "tls": "disable",
        "setup": [],
    }
    assert "s3cr3t" not in f"{dsn!r}{dsn}{dsn.where}"


@pytest.mark.parametrize(
    ("text", "where", "transport", "is_here"),
    [
        ("mysql://app@db1", "app@db1:3306", {"TCP", "TLS"}, False),
        ("mysql://app@[::1]", "app@[::1]:3306", {"TCP"}, True),
        ("mysql://app@/?socket=/s", "app@/s", {"Unix", "socket"}, True),
    ],
)
def test_a_server_is_called_by_user_and_address(text: str, where: str, transport: set[str], is_here: bool) -> None:
    dsn = parse_dsn(text)
    assert (dsn.where, dsn.is_here) == (where, is_here)
    assert set(dsn.transport.split()) - {"with"} == transport
