from pathlib import Path

import pytest

from support.refused import Coded, Part, coded, has, refused
from tdelta.errors import LoadGeneratorError
from tdelta.messages import Refusal
from tdelta.processes.load_generator.command import Work, expand, parse_load
from tdelta.processes.load_generator.connections import Connection
from tdelta.processes.load_generator.tools import Amount

from .recorded import MYSQL, POSTGRES

pytestmark = pytest.mark.usefixtures("installed")

WORK = Work(threads=4, operations=1001, seconds=2.4, seed=41)
FOLDER = Path("/private")


def faults_of(text: str, protocol: str = "mysql", **options: object) -> tuple[Refusal, ...]:
    with pytest.raises(LoadGeneratorError) as caught:
        parse_load(text, protocol, **options)  # type: ignore[arg-type]
    assert all(fault.text in str(caught.value) for fault in caught.value.refusals)
    return caught.value.refusals


def words_of(text: str, connection: Connection = MYSQL, work: Work = WORK) -> tuple[str, ...]:
    return parse_load(text, connection.protocol).argv(connection, work, FOLDER)


def test_a_bare_sysbench_command_gets_connection_threads_events_seed_and_histogram() -> None:
    assert words_of("sysbench oltp_read_only --tables=4 run") == (
        "sysbench",
        "--mysql-user=tdelta",
        "--mysql-db=tdelta",
        "--mysql-socket=/run/twin/server.sock",
        "--db-driver=mysql",
        "--threads=4",
        "--time=0",
        "--events=1001",
        "--rand-seed=42",
        "--histogram",
        "oltp_read_only",
        "--tables=4",
        "run",
    )


def test_a_bare_pgbench_command_gets_the_sockets_folder_clients_transactions_a_seed_and_a_log() -> None:
    words = words_of("pgbench -S", POSTGRES)
    assert words[:5] == ("pgbench", "--host=/run/twin", "--port=5499", "--username=tdelta", "tdelta")
    assert set(words[5:]) >= {"--client=4", "--transactions=251", "--random-seed=42", "--log", "-S"}
    assert "--log-prefix=/private/load-log" in words


def test_sysbench_speaks_to_postgresql_by_its_own_options() -> None:
    words = words_of("sysbench oltp_read_only run", POSTGRES)
    assert {"--db-driver=pgsql", "--pgsql-host=/run/twin", "--pgsql-port=5499", "--pgsql-db=tdelta"} <= set(words)


def test_every_placeholder_is_filled_in() -> None:
    assert words_of("mytool {user}@{host}:{port}/{database} {threads} {operations} {seconds} {option_file}")[1:] == (
        "tdelta@localhost:3306/tdelta",
        "4",
        "1001",
        "2",
        "/private/home/.my.cnf",
    )


def test_braces_that_are_doubled_or_a_shells_stay() -> None:
    assert expand("{{user}} ${user} {print $1} {}", {"user": "me"}) == "{user} ${user} {print $1} {}"


def test_values_are_quoted_within_a_shells_script_and_nowhere_else() -> None:
    odd = Connection("mysql", "x y", "x; rm -rf y", socket=Path("/s"))
    assert words_of("sh -c 'mytool {user} {database}' {user}", odd)[1:] == ("-c", "mytool 'x y' 'x; rm -rf y'", "x y")


def test_a_known_tool_is_found_behind_a_wrapper_and_keeps_its_options_to_itself() -> None:
    words = words_of("taskset -c 1 sysbench oltp_read_only run")
    assert words[:5] == ("taskset", "-c", "1", "sysbench", "--mysql-user=tdelta")


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("sysbench t run", Amount.ASKED),
        ("sysbench t --events=0 --time=0 run", Amount.ASKED),
        ("sysbench t --events={operations} run", Amount.ASKED),
        ("sysbench t --events=500 run", Amount.FIXED),
        ("sysbench t --max-requests=500 --max-time=0 run", Amount.FIXED),
        ("sysbench t --time=5 run", Amount.TIMED),
        ("sysbench t --max-time={seconds} run", Amount.TIMED),
        ("sysbench t --events=500 --time=5 run", Amount.TIMED),
        ("mytool", Amount.OWN),
        ("mytool -n {operations}", Amount.ASKED),
        ("mytool -t {seconds}", Amount.TIMED),
    ],
)
def test_what_ends_a_trial_is_read_from_the_command(text: str, amount: Amount) -> None:
    command = parse_load(text, "mysql")
    assert command.filled.amount is amount
    assert command.calibrates == (amount is Amount.ASKED)
    assert has(command.cautions, "load-timed") == (amount is Amount.TIMED)


def test_a_command_that_names_no_twin_of_mysql_comes_with_a_caution() -> None:
    assert has([parse_load("mytool -x", "mysql").cautions[0]], "load-names-no-twin", product="MySQL")
    assert parse_load("mytool --defaults-extra-file={option_file}", "mysql").cautions == ()
    assert parse_load("mytool -x", "postgres").cautions == (), "libpq reads its variables first"


def test_an_option_file_is_refused_for_postgresql_with_the_variables_that_are_set() -> None:
    with refused(LoadGeneratorError, "load-option", option="{option_file}", why=Part("PGHOST")):
        parse_load("mytool {option_file}", "postgres")
    with refused(LoadGeneratorError, "unknown", found="sokcet") as caught:
        parse_load("mytool {sokcet}", "postgres")
    assert "{socket}" in str(caught.value)
    assert "{option_file}" not in str(caught.value)
    set_there = Connection("postgres", "me", "db", socket=Path("/run/.s.PGSQL.1")).environment()
    assert {*set_there} == {"PGHOST", "PGPORT", "PGUSER", "PGDATABASE"}


def test_a_fixed_number_of_events_is_not_cut_off_by_sysbenchs_ten_seconds() -> None:
    assert "--time=0" in words_of("sysbench t --events=500 run")
    assert not any(word.startswith("--events=1001") for word in words_of("sysbench t --events=500 run"))


def test_a_time_of_the_users_gets_no_number_of_events() -> None:
    assert not any("--events" in word for word in words_of("sysbench t --time=5 run"))


def test_pgbenchs_options_are_read_as_getopt_reads_them() -> None:
    command = parse_load("pgbench -nSc8 -T 3", "postgres")
    assert (command.filled.threads, command.filled.amount) == (8, Amount.TIMED)
    assert parse_load("pgbench -c 8 --transac=10", "postgres").filled.amount is Amount.FIXED
    words = words_of("pgbench -c8 mine", POSTGRES)
    assert not any(word.startswith("--client") for word in words)
    assert "tdelta" not in words
    assert "--transactions=126" in words, "1001 operations of the command's own 8 clients, not of the run's 4"


def test_all_faults_of_a_command_are_told_at_once_with_their_remedies() -> None:
    faults = faults_of(
        "sysbench oltp_read_only --mysql-socket=/x --pgsql-db=y --threads=8 --report-checkpoints=1 {sokcet} run > out",
        threads_levels=(1, 4),
    )
    for part in (
        "unknown placeholder sokcet",
        "`>` requires a shell",
        "values after `=`",
        "--mysql-socket: tdelta sets it",
        "--pgsql-db: mysql requires",
        "--threads 8: the run's threads are 1, 4",
        "--report-checkpoints",
    ):
        assert any(part in fault.text for fault in faults), (part, faults)


@pytest.mark.parametrize(
    ("text", "protocol", "part"),
    [
        ("", "mysql", coded("missing", what="the command ('sysbench oltp_read_only run')")),
        ("sysbench 'oltp", "mysql", coded("invalid", kind="command")),
        ("nosuchtool --x", "mysql", coded("program-missing", program="nosuchtool")),
        ("sysbench oltp_read_only prepare", "mysql", coded("load-command", found="prepare")),
        ("sysbench oltp_read_only", "mysql", coded("load-command", found="oltp_read_only")),
        ("sysbench run", "mysql", coded("load-command", found="run")),
        ("sysbench cpu run", "mysql", coded("load-command", found=Part("cpu"))),
        (
            "sysbench t --threads=many run",
            "mysql",
            coded("load-option", option=Part("--threads"), why="not a whole number above 0"),
        ),
        ("sysbench t --db-driver=pgsql run", "mysql", coded("load-option", option=Part("pgsql"), why=Part("mysql"))),
        (
            "sysbench t --mysql-dry-run run",
            "mysql",
            coded("load-option", option="--mysql-dry-run", why=Part("nothing would reach")),
        ),
        ("sysbench t --verbosity=0 run", "mysql", coded("load-option", why=Part("below 3 it hides the"))),
        (
            "sysbench t --percentile=0 --histogram run",
            "mysql",
            coded("conflict", one="--percentile=0", other="--histogram"),
        ),
        ("pgbench -S", "mysql", coded("unsupported", by=Part("mysql"), what="pgbench")),
        ("pgbench -i", "postgres", coded("load-option", option=Part("initialize"))),
        ("pgbench -h here", "postgres", coded("load-option", option=Part("host"), why="tdelta sets it for each copy")),
        ("pgbench -p5432", "postgres", coded("load-option", option=Part("port"), why="tdelta sets it for each copy")),
        ("pgbench -t1 -T1", "postgres", coded("conflict", one="-t", other="-T")),
        ("pgbench --sampling-rate=0.1", "postgres", coded("load-option", option=Part("sampling-rate"))),
        (
            "pgbench --nonsense",
            "postgres",
            coded("invalid", kind="pgbench option", fault=Part("--nonsense")),
        ),
        ("pgbench postgres://me@there/db", "postgres", coded("load-option", why="tdelta sets it for each copy")),
        ("pgbench x y", "postgres", coded("unexpected", found="x y", expected="one database at most")),
        ("mytool {thread}", "mysql", coded("unknown", found="thread", kind="placeholder")),
        ("mytool | mytool", "mysql", coded("load-shell-sign", sign="|")),
    ],
)
def test_a_command_that_cannot_be_a_load_is_refused(text: str, protocol: str, part: Coded) -> None:
    faults = faults_of(text, protocol)
    assert len(faults) == 1, faults
    assert has(faults, part), faults


def test_a_value_behind_a_space_which_sysbench_does_not_take_is_told() -> None:
    assert has(faults_of("sysbench --threads 4 t run"), "load-command", found=Part("4 t"))


@pytest.mark.parametrize(
    "text",
    [
        "sysbench t --mysql-password=hunter2 run",
        "env MYSQL_PWD=hunter2 sysbench t run",
        "sh -c 'PGPASSWORD=hunter2 mytool'",
        "mytool --password=hunter2",
        "mysql -phunter2",
    ],
)
def test_a_password_in_the_command_is_refused_and_not_repeated(text: str) -> None:
    faults = faults_of(text)
    assert faults[0].code == "load-option"
    assert "hunter2" not in str(faults)


def test_options_with_placeholders_are_the_users_to_place() -> None:
    words = words_of("sysbench t --mysql-socket={socket} --mysql-user={user} --threads={threads} run")
    assert [word for word in words if "socket" in word] == ["--mysql-socket=/run/twin/server.sock"]
    assert words.count("--threads=4") == 1


@pytest.mark.parametrize("pattern", ["([0-9]+", "done", "(a)(b)"])
def test_a_pattern_without_exactly_one_group_is_refused(pattern: str) -> None:
    assert "--load-operations" in faults_of("mytool", operations=pattern)[0].text


def test_a_seed_is_never_0_which_sysbench_takes_for_the_clock() -> None:
    seeds = [Work(1, 1, 1.0, seed).placeholders()["seed"] for seed in (0, (1 << 31) - 2, 1 << 63)]
    assert all(0 < int(seed) < 1 << 31 for seed in seeds)
