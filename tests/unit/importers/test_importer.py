import pytest

from support.refused import refused
from tdelta.errors import ImportFault
from tdelta.importers import benchbase, hammerdb, swingbench
from tdelta.importers.detect import recognize
from tdelta.importers.importer import Belonging, Naming
from tdelta.importers.reading import FileSource
from tdelta.messages import Caution
from tdelta.records.observed import Origin

from .given import FIXTURES, only

OURS = Belonging("f", "format", "tde", "2", ())
EVERY = sorted(path for tool in ("swingbench", "hammerdb", "benchbase") for path in (FIXTURES / tool).iterdir())
IMPORTERS = (*swingbench.IMPORTERS, *hammerdb.IMPORTERS, *benchbase.IMPORTERS)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_a_file_without_a_condition_is_refused_with_the_option_that_names_it(path):
    with refused(ImportFault, "file-without-condition", where=path):
        list(only(IMPORTERS, path).read(FileSource(path), Naming(None)))


def test_a_file_with_one_run_keeps_its_name_and_several_are_numbered():
    assert OURS.of_run(1, 1).run == "2"
    assert OURS.of_run(3, 5).run == "2.3"


FIRST, SECOND = Caution.of("failed-transactions", transactions=2), Caution.of("run-aborted")


def test_cautions_of_the_file_come_before_those_of_a_figure():
    assert OURS.noting(FIRST).origin(3, SECOND) == Origin("f", "format", 3, (FIRST, SECOND))


SAYING = [
    ("sysbench/sysbench-0.5.txt", "threads", 16),
    ("sysbench/hook.csv", "threads", 16),
    ("pgbench/pgbench-19.txt", "clients", 4),
    ("swingbench/results.xml", "threads", 4),
    ("hammerdb/result.json", "threads", 4),
    ("benchbase/tpcc.summary.json", "threads", 4),
]


@pytest.mark.parametrize(("fixture", "factor", "said"), SAYING, ids=lambda value: str(value))
def test_every_format_says_its_load_beside_what_names_tell_apart(fixture, factor, said):
    path = FIXTURES / fixture
    observations = list(
        recognize(FileSource(path))[0].read(FileSource(path), Naming("tde", levels=(("name", "warm"),)))
    )
    assert observations
    assert {found.group.levels for found in observations} == {(("name", "warm"), (factor, said))}
