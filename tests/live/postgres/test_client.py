import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from support.certificates import certify
from tdelta import _native

from .conftest import Open
from .private import PASSWORD, PrivateServer

TABLES = (
    "CREATE TABLE parents (id BIGINT PRIMARY KEY, label VARCHAR(40))",
    """CREATE TABLE every (
        id BIGINT PRIMARY KEY, small SMALLINT, whole INTEGER, large BIGINT, exact DOUBLE PRECISION, price NUMERIC(8, 2),
        words TEXT, padded CHAR(12), shape VARCHAR(20), mixed VARCHAR(20), marker BYTEA, "Odd ""Name" BIGINT
    )""",
    "CREATE TABLE hollow (id BIGINT)",
)
INDEXES = ("CREATE INDEX every_whole ON every (whole)",)
HEX = [("00" if row % 2 else "ff") + f"5c0a09{row:04x}" for row in range(3000)]
EXACT = [0.1, -1.5e300, 5e-324, 1e15, 12345678.912345679, -0.0]
WORDS = ["", "\\N", "a\tb\nc\rd\\e", "ünï ćödé 😀", "';", None]
PLAN = {
    "tables": [
        {
            "name": "PARENTS",
            "rows": 50,
            "columns": [
                {"name": "ID", "distribution": "serial"},
                {"name": "label", "distribution": "words", "min": 1, "max": 3},
            ],
        },
        {
            "name": "every",
            "rows": 3000,
            "columns": [
                {"name": "id", "distribution": "serial"},
                {"name": "small", "distribution": "uniform", "lo": -32768, "hi": 32767, "null_share": 0.2},
                {"name": "whole", "distribution": "uniform", "lo": -2147483648, "hi": 2147483647},
                {"name": "large", "distribution": "uniform", "lo": -(2**52), "hi": 2**52, "null_share": 0.5},
                {"name": "exact", "distribution": "choice", "values": EXACT},
                {"name": "price", "distribution": "choice", "values": [0.25, 1.5, -999999.75, None]},
                {"name": "words", "distribution": "choice", "values": WORDS},
                {"name": "padded", "distribution": "text", "min": 1, "max": 12},
                {"name": "shape", "distribution": "pattern", "template": "A-##-??"},
                {"name": "mixed", "distribution": "text", "min": 0, "max": 20, "null_share": 0.25},
                {"name": "marker", "distribution": "bytes", "hex": HEX},
                {"name": 'Odd "Name', "distribution": "ref", "table": "PARENTS"},
            ],
        },
        {"name": "hollow", "rows": 0, "columns": [{"name": "id", "distribution": "serial"}]},
    ]
}  # fmt: skip
SEED = 7
WRONG = "not-this-one"


def columns() -> list[tuple[str, list[str]]]:
    return [(table["name"], [c["name"] for c in table["columns"]]) for table in PLAN["tables"]]


def prepare(twin: _native.ServerTwin, **scripts: str) -> None:
    mix = [{"name": name, "weight": 1, "text": text} for name, text in scripts.items()]
    twin.prepare(json.dumps(mix), json.dumps({"rows": 3000}))


def trial(twin: _native.ServerTwin, operations: int, **changes: Any) -> Any:
    given = {"seed": SEED, "stream": 1, "operations": operations, "first_op": 1, "deadline_ns": 60_000_000_000}
    return twin.trial(json.dumps(given | changes))


def refusal(options: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(_native.NativeError) as refused:
        _native.ServerTwin(json.dumps(options), 1)
    return refused.value.args


def end_backends(options: dict[str, Any], statement: str) -> None:
    twin = _native.ServerTwin(json.dumps(options), 1)
    busy = f"pid <> pg_backend_pid() AND query = '{statement}' AND state = 'active'"
    until = time.monotonic() + 30
    while twin.text(f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {busy}") == "0":
        assert time.monotonic() < until
    twin.close()


@pytest.fixture(scope="module")
def loaded(server: PrivateServer) -> PrivateServer:
    twin = _native.ServerTwin(json.dumps(server.options()), 1)
    twin.run("CREATE SCHEMA IF NOT EXISTS held")
    twin.load(json.dumps(PLAN), SEED, 3, TABLES, INDEXES)
    twin.close()
    return server


class TestRows:
    def test_what_is_loaded_is_what_was_generated(self, loaded: PrivateServer, open_twin: Open) -> None:
        twin = open_twin()
        found = twin.checksums(columns())
        assert found == _native.plan_checksums(json.dumps(PLAN), SEED, 2)
        assert {name: rows for name, (rows, _) in found.items()} == {"PARENTS": 50, "every": 3000, "hollow": 0}

    def test_one_changed_value_changes_its_tables_checksum(self, loaded: PrivateServer, open_twin: Open) -> None:
        twin = open_twin()
        before = twin.checksums(columns())
        for change, back in (("exact = -exact", "exact = -exact"), ("marker = marker || 'x'", "marker = '\\x{hex}'")):
            twin.run(f"UPDATE every SET {change} WHERE id = 2")
            changed = twin.checksums(columns())
            twin.run(f"UPDATE every SET {back.format(hex=HEX[1])} WHERE id = 2")
            assert changed["every"] != before["every"]
            assert changed["PARENTS"] == before["PARENTS"]
        assert twin.checksums(columns()) == before

    def test_loaded_rows_are_frozen_and_in_the_order_of_their_keys(
        self, loaded: PrivateServer, open_twin: Open
    ) -> None:
        twin = open_twin()
        twin.run("CREATE EXTENSION IF NOT EXISTS pageinspect")
        fresh = "CREATE TABLE fresh (id BIGINT, label VARCHAR(40))"
        plan = {"tables": [PLAN["tables"][0] | {"name": "fresh", "rows": 50_000}]}
        twin.load(json.dumps(plan), SEED, 4, [fresh], [])
        page = "heap_page_items(get_raw_page('fresh', 0))"
        assert twin.text(f"SELECT count(*) FROM {page} WHERE t_infomask & 768 <> 768") == "0"
        assert (
            twin.text(
                "SELECT bool_and(id = place) FROM (SELECT id, row_number() OVER (ORDER BY ctid) place FROM fresh) x"
            )
            == "t"
        )

    def test_a_row_that_the_table_refuses_names_the_sqlstate_and_leaves_nothing(self, open_twin: Open) -> None:
        twin = open_twin()
        tables = ["CREATE TABLE strict (id BIGINT CHECK (id < 40000))"]
        plan = {"tables": [{"name": "strict", "rows": 50_000, "columns": [{"name": "id", "distribution": "serial"}]}]}
        with pytest.raises(_native.NativeError, match="SQLSTATE 23514") as refused:
            twin.load(json.dumps(plan), SEED, 1, tables, [])
        assert refused.value.args[0] == "constraint"
        assert twin.text("SELECT count(*) FROM strict") == "0"


class TestTrials:
    @pytest.mark.parametrize("threads", [1, 4])
    def test_every_operation_is_done_and_every_row_fetched(
        self, loaded: PrivateServer, open_twin: Open, threads: int
    ) -> None:
        twin = open_twin(threads)
        twin.run("DROP TABLE IF EXISTS done; CREATE TABLE done (op BIGINT PRIMARY KEY, client BIGINT)")
        prepare(
            twin,
            work="\\set id random(1, :rows - 10)\nBEGIN;\nSELECT * FROM every WHERE id BETWEEN :id AND :id + 9;\n"
            "INSERT INTO done VALUES (:op, :client);\nCOMMIT;",
        )
        found = trial(twin, 400)
        outcome = found["outcome"]
        assert (outcome["operations"], outcome["rows"], outcome["errors"]) == (400, 4000, {})
        assert found["spans"]["stmt:work/3"][0] == 400
        assert twin.text("SELECT count(*) || '/' || min(op) || '/' || max(op) FROM done") == "400/1/400"
        assert twin.text("SELECT count(DISTINCT client) FROM done") == str(threads)

    def test_values_of_every_type_go_out_and_come_back(self, open_twin: Open) -> None:
        twin = open_twin()
        twin.run("DROP TABLE IF EXISTS held.v; DROP SCHEMA IF EXISTS held CASCADE; CREATE SCHEMA held")
        twin.run(
            "CREATE TABLE held.v (op BIGINT, s SMALLINT, i INTEGER, n NUMERIC, d DOUBLE PRECISION, r REAL, t TEXT,"
            " c CHAR(6), b BYTEA, o BOOLEAN, z INTEGER)"
        )
        prepare(
            twin,
            first="SELECT -7::smallint AS s, 2147483647 AS i, 12345678901234567890.5::numeric AS n, 0.1::float8 AS d,"
            " 0.5::real AS r, 'ä\"' || chr(39) AS t, 'pad'::char(6) AS c, '\\x00ff'::bytea AS b, true AS o,"
            " NULL::integer AS z, 77::numeric AS w \\gset\n"
            "\\set w :w + 1\n"
            "INSERT INTO held.v VALUES (:op, :s, :i, :n, :d, :r, :t, :c, :b, :o, :z);\n"
            "INSERT INTO held.v (op, n, d) VALUES (:w, :i, :i);",
        )
        outcome = trial(twin, 1)["outcome"]
        assert outcome["first_error"] is None
        names, rows = twin.rows("SELECT s, i, n, d, r, t, c, b, o, z FROM held.v ORDER BY op LIMIT 1")
        assert names == ["s", "i", "n", "d", "r", "t", "c", "b", "o", "z"]
        assert rows == [
            ["-7", "2147483647", "12345678901234567000", "0.1", "0.5", "ä\"'", "pad   ", "\\x00ff", "t", None]
        ]
        assert twin.rows("SELECT op, n, d FROM held.v ORDER BY op DESC LIMIT 1")[1] == [
            ["78", "2147483647", "2147483647"]
        ]

    def test_gset_without_a_row_is_an_error_of_its_own(self, loaded: PrivateServer, open_twin: Open) -> None:
        twin = open_twin()
        prepare(twin, none="SELECT id FROM every WHERE id = -1 \\gset\nSELECT :id::bigint;")
        assert trial(twin, 1)["outcome"]["errors"] == {"no_row": 1}
        prepare(twin, some="SELECT id FROM every WHERE id = 1 \\gset\nSELECT :id::bigint;")
        assert trial(twin, 3)["outcome"]["rows"] == 6

    def test_rows_longer_than_the_buffer_are_read(self, open_twin: Open) -> None:
        twin = open_twin()
        prepare(
            twin,
            long="SELECT repeat('x', 3000000) AS word, length(repeat('y', 10)) AS n \\gset\n"
            "SELECT length(:word::text) AS back \\gset\n"
            "SELECT 1 / (CASE WHEN :back::int = 3000000 AND :n::int = 10 THEN 1 ELSE 0 END);",
        )
        assert trial(twin, 3)["outcome"]["errors"] == {}

    def test_a_serialization_failure_is_tried_again_until_it_is_done(self, open_twin: Open) -> None:
        twin = open_twin(4)
        twin.run("DROP TABLE IF EXISTS tally; CREATE TABLE tally (n BIGINT); INSERT INTO tally VALUES (0)")
        prepare(
            twin,
            add="BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT n FROM tally \\gset\n"
            "UPDATE tally SET n = :n + 1;\nCOMMIT;",
        )
        outcome = trial(twin, 300, max_tries=1000)["outcome"]
        assert (outcome["operations"], outcome["errors"]) == (300, {})
        assert outcome["retries"]["serialization"] > 0
        assert twin.text("SELECT n FROM tally") == "300"

    def test_a_lock_that_is_held_is_tried_as_often_as_allowed(self, open_twin: Open) -> None:
        twin = open_twin()
        twin.run("DROP TABLE IF EXISTS lone; CREATE TABLE lone (n BIGINT); INSERT INTO lone VALUES (0)")
        prepare(twin, take="SELECT n FROM lone FOR UPDATE NOWAIT;")
        twin.run("BEGIN")
        twin.run("UPDATE lone SET n = 1")
        outcome = trial(twin, 1, max_tries=3)["outcome"]
        twin.run("ROLLBACK")
        assert (outcome["retries"], outcome["errors"]) == ({"locked": 2}, {"locked": 1})
        assert "SQLSTATE 55P03" in outcome["first_error"]

    def test_a_failed_transaction_is_left_and_the_next_one_runs(self, open_twin: Open) -> None:
        twin = open_twin()
        twin.run("DROP TABLE IF EXISTS once; CREATE TABLE once (n BIGINT PRIMARY KEY)")
        prepare(twin, insert="BEGIN;\nINSERT INTO once VALUES (:op / 2);\nCOMMIT;")
        outcome = trial(twin, 10, stop_on_error=False)["outcome"]
        assert outcome["errors"] == {"constraint": 4}
        assert twin.text("SELECT count(*) FROM once") == "6"
        assert twin.text("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'") == "0"

    def test_connect_opens_a_new_session_with_everything_prepared(self, open_twin: Open) -> None:
        twin = open_twin()
        twin.run("DROP TABLE IF EXISTS seen; CREATE TABLE seen (pid BIGINT)")
        prepare(twin, again="\\connect\nINSERT INTO seen SELECT pg_backend_pid();")
        assert trial(twin, 5)["outcome"]["errors"] == {}
        assert twin.text("SELECT count(DISTINCT pid) FROM seen") == "5"

    def test_preparing_anew_replaces_what_was_prepared(self, open_twin: Open) -> None:
        twin = open_twin()
        for rows in (2, 5):
            prepare(twin, series=f"SELECT * FROM generate_series(1, {rows});")
            assert trial(twin, 3)["outcome"]["rows"] == 3 * rows


class TestFaults:
    def test_a_statement_that_cannot_be_prepared_is_named_by_script_and_line(self, open_twin: Open) -> None:
        twin = open_twin()
        with pytest.raises(_native.NativeError, match=r'^\(.*bad, line 2: .*"nowhere".*\(SQLSTATE 42P01\)'):
            prepare(twin, good="SELECT 1;", bad="SELECT 1;\nSELECT * FROM nowhere;\nSELECT 2;")
        prepare(twin, good="SELECT 1;")
        assert trial(twin, 2)["outcome"]["operations"] == 2

    def test_a_sum_of_variables_whose_types_nothing_tells_comes_with_a_remedy(self, open_twin: Open) -> None:
        twin = open_twin()
        with pytest.raises(_native.NativeError, match=r"sum, line 2: .*SQLSTATE 42725.*\\\\set"):
            prepare(twin, sum="\\set a 1\nSELECT :a + :op;")
        prepare(twin, sum="\\set a 1\nSELECT CAST(:a AS BIGINT) + :op;")
        assert trial(twin, 1)["outcome"]["rows"] == 1

    def test_a_dollar_parameter_of_the_scripts_own_is_refused(self, open_twin: Open) -> None:
        with pytest.raises(_native.NativeError, match="write :name"):
            prepare(open_twin(), dollar="SELECT $1::int;")

    def test_copy_from_stdin_in_a_script_is_refused_and_does_not_hang(self, open_twin: Open) -> None:
        twin = open_twin()
        twin.run("DROP TABLE IF EXISTS taken; CREATE TABLE taken (n BIGINT)")
        prepare(twin, copy="COPY taken FROM STDIN;")
        outcome = trial(twin, 1)["outcome"]
        assert outcome["errors"] == {"sql": 1}
        assert "COPY" in outcome["first_error"]

    @pytest.mark.parametrize("user", ["scrammed", "hashed", "plain"])
    def test_a_password_opens_and_a_wrong_one_does_not(self, server: PrivateServer, open_twin: Open, user: str) -> None:
        assert open_twin(options=server.options(user=user, password=PASSWORD)).text("SELECT current_user") == user
        kind, message = refusal(server.options(user=user, password=WRONG))
        assert (kind, "28P01" in message) == ("auth", True)
        assert WRONG not in message
        kind, message = refusal(server.options(user=user))
        assert (kind, "none is given" in message) == ("auth", True)

    def test_an_unknown_database_and_an_unknown_user_are_told_apart(self, server: PrivateServer) -> None:
        kind, message = refusal(server.options(database="nowhere"))
        assert (kind, "3D000" in message) == ("unknown_database", True)
        assert refusal(server.options(user="nobody"))[0] == "auth"

    def test_what_a_user_may_not_do_is_denied(self, loaded: PrivateServer, open_twin: Open) -> None:
        twin = open_twin(options=loaded.options(user="plain", password=PASSWORD))
        with pytest.raises(_native.NativeError) as refused:
            twin.run("SELECT * FROM every")
        assert refused.value.args[0] == "denied"

    def test_nobody_there_is_a_fault_of_the_connection(self, server: PrivateServer, tmp_path: Path) -> None:
        kind, message = refusal(server.options(socket=str(tmp_path / "none")))
        assert (kind, str(tmp_path / "none") in message) == ("connection", True)

    def test_setup_is_run_on_every_connection(self, server: PrivateServer, open_twin: Open) -> None:
        twin = open_twin(2, server.options(setup=["SET search_path = elsewhere", "SET work_mem = '1MB'"]))
        assert twin.text("SHOW search_path") == "elsewhere"
        twin.run("DROP TABLE IF EXISTS public.paths; CREATE TABLE public.paths (path TEXT, client BIGINT)")
        prepare(twin, note="INSERT INTO public.paths SELECT current_setting('search_path'), :client;")
        trial(twin, 50)
        assert twin.rows("SELECT DISTINCT path FROM public.paths")[1] == [["elsewhere"]]

    def test_a_backend_that_is_ended_ends_its_trial_with_the_reason(
        self, server: PrivateServer, open_twin: Open
    ) -> None:
        twin = open_twin(2)
        prepare(twin, slow="SELECT pg_sleep(0.005);")
        ender = threading.Thread(target=end_backends, args=(server.options(), "SELECT pg_sleep(0.005)"))
        ender.start()
        outcome = trial(twin, 100_000)["outcome"]
        ender.join()
        assert outcome["stopped_by"] == "error"
        assert set(outcome["errors"]) == {"connection"}
        assert "57P01" in outcome["first_error"]


class TestTls:
    def test_a_connection_is_encrypted_where_asked(self, server: PrivateServer, open_twin: Open) -> None:
        mine = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        assert open_twin().text(mine) == "f"
        for mode in ("require", "verify-ca", "verify-full"):
            options = server.over_tls(tls=mode, tls_ca=str(server.authority))
            twin = open_twin(2, options)
            assert twin.text(mine) == "t"
            prepare(twin, long="SELECT repeat('x', 100000), n FROM generate_series(1, 20) n;")
            assert trial(twin, 20)["outcome"]["rows"] == 400

    def test_a_certificate_of_another_authority_is_refused(self, server: PrivateServer, tmp_path: Path) -> None:
        strange = str(certify(tmp_path) / "ca.pem")
        assert refusal(server.over_tls(tls="verify-ca", tls_ca=strange))[0] == "tls"

    def test_a_wrong_password_is_refused_over_tls_too(self, server: PrivateServer) -> None:
        assert refusal(server.over_tls(password=WRONG))[0] == "auth"

    def test_the_server_says_that_it_wants_tls(self, server: PrivateServer) -> None:
        kind, message = refusal(server.over_tls(tls="disable"))
        assert (kind, "pg_hba.conf" in message) == ("auth", True)


class TestObserved:
    def test_the_servers_cpu_is_its_whole_trees_and_not_the_clients(
        self, server: PrivateServer, open_twin: Open
    ) -> None:
        twin = open_twin(2)
        prepare(twin, burn="SELECT count(*) FROM generate_series(1, 300000);")
        unwatched = trial(twin, 10)
        twin.observe(json.dumps({"watch": [server.process.pid]}))
        found = trial(twin, 10)
        used = found["outcome"]["cpu_user_seconds"] + found["outcome"]["cpu_system_seconds"]
        client = found["extra"]["client_cpu_user_seconds"] + found["extra"]["client_cpu_system_seconds"]
        assert unwatched["outcome"]["cpu_user_seconds"] == 0
        assert used > 0.02, "backends are children of the process that is watched"
        assert client < used / 5

    def test_backends_that_ended_are_counted_still(self, server: PrivateServer, open_twin: Open) -> None:
        twin = open_twin()
        twin.observe(json.dumps({"watch": [server.process.pid]}))
        prepare(twin, burn="SELECT count(*) FROM generate_series(1, 300000);\n\\connect\nSELECT 1;")
        found = trial(twin, 10)["outcome"]
        assert found["cpu_user_seconds"] + found["cpu_system_seconds"] > 0.05
