"""Whatever is typed or printed: a fault that says what is wrong, or a result; never a traceback."""

import re
import tempfile
from contextlib import suppress
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tdelta.errors import LoadFault, LoadGeneratorError
from tdelta.processes.load_generator.command import PLACEHOLDERS, AnyCommand, Work, expand, parse_load
from tdelta.processes.load_generator.connections import Connection
from tdelta.processes.load_generator.pgbench import Pgbench
from tdelta.processes.load_generator.sysbench import Sysbench
from tdelta.processes.load_generator.tools import Finished

OUTPUTS = Path(__file__).parents[1] / "unit" / "processes" / "load_generator" / "outputs"
REPORTS = tuple(path.read_text() for path in sorted(OUTPUTS.glob("*.txt")))
LOGS = tuple(path.read_text() for path in sorted(OUTPUTS.glob("*.log.*")))
OPTIONS = (
    "--threads=4 --threads= --threads=x --events=10 --events={operations} --time=3 --time= --mysql-socket={socket} run"
    " prepare oltp_read_only --histogram --histogram=off --percentile=0 -c 4 -c -t 5 -T 5 -S -nSc8 -i -d --log mine"
    " --client=²  --transactions={x} {threads} {{a}} | --pgsql-host=a -h -- - -f a.sql -j 0"
)
WORDS = st.lists(st.one_of(st.sampled_from(OPTIONS.split()), st.text(max_size=12)), max_size=8)
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
CONNECTIONS = (
    Connection("mysql", "me", "db", socket=Path("/s")),
    Connection("postgres", "me", "db", socket=Path("/run/.s.PGSQL.5432")),
)


@unhurried
@given(st.sampled_from(CONNECTIONS), st.one_of(st.text(), WORDS.map(" ".join)), st.none() | st.text(max_size=9))
def test_any_text_is_a_command_or_has_faults(connection: Connection, text: str, pattern: str | None) -> None:
    with suppress(LoadGeneratorError):
        parse_load(text, connection.protocol, threads_levels=(1, 4), operations=pattern)


@unhurried
@given(st.sampled_from(CONNECTIONS), WORDS, st.sampled_from([Sysbench(), Pgbench()]))
def test_any_words_of_a_tool_are_filled_in_or_have_faults(
    connection: Connection, words: list[str], tool: Sysbench | Pgbench
) -> None:
    filled = tool.fill(words, connection.protocol, (1,))
    assert filled.words[len(filled.added) :] == tuple(words)
    if not filled.faults:
        tool.connection_words(filled.words, connection)


@unhurried
@given(st.text(), st.fixed_dictionaries({name: st.text() for name in PLACEHOLDERS}))
def test_a_value_is_never_expanded_again(word: str, values: dict[str, str]) -> None:
    assert expand("{user}", values | {"user": "{host}"}) == "{host}"
    with suppress(KeyError):  # an unknown placeholder is refused before anything is expanded
        expand(word, values)


@unhurried
@given(st.integers(1, 10**6), st.integers(1, 4096))
def test_the_shares_of_all_connections_are_no_fewer_operations_than_asked(operations: int, threads: int) -> None:
    share = int(Work(threads, operations, 1.0, 1).placeholders()["operations_per_thread"])
    assert 0 <= share * threads - operations < threads


def mangled(texts: tuple[str, ...]) -> st.SearchStrategy[str]:
    def cut(text: str, at: int, to: int, put: str) -> str:
        first, last = sorted((at % (len(text) + 1), to % (len(text) + 1)))
        return text[:first] + put + text[last:]

    return st.builds(cut, st.sampled_from(texts), st.integers(0, 1 << 16), st.integers(0, 1 << 16), st.text(max_size=9))


@unhurried
@given(st.one_of(st.text(), mangled(REPORTS)))
def test_any_output_is_a_result_or_a_fault(out: str) -> None:
    finished = Finished(0, 1_000, out, "")
    for tool in (Sysbench(), Pgbench(), AnyCommand("x"), AnyCommand("x", re.compile("([0-9]+)?"))):
        with suppress(LoadFault):
            result = tool.read(finished)
            assert result.operations > 0
            assert result.elapsed_ns >= 0


@unhurried
@given(st.sampled_from([report for report in REPORTS if "pgbench (15" in report]), mangled(LOGS))
def test_any_log_is_a_result_or_a_fault(report: str, log: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "load-log.1").write_text(log, encoding="utf-8", errors="replace")
        with suppress(LoadFault):
            Pgbench().read(Finished(0, 1_000, report, "", Path(folder), "load-log"))
