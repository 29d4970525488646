import pytest

from support.refused import check_messages, coded, refused
from support.texts import texts
from tdelta.errors import ImportFault
from tdelta.importers import benchbase, hammerdb, swingbench
from tdelta.importers.importer import Belonging, Naming, with_said
from tdelta.importers.reading import FileSource
from tdelta.importers.recognizing import recognize
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


FIRST, SECOND = Caution.of("of-one-user"), Caution.of("run-aborted")


def test_cautions_of_the_file_come_before_those_of_a_figure():
    assert OURS.noting(FIRST).origin(3, SECOND) == Origin("f", "format", 3, (FIRST, SECOND))


def test_what_a_file_says_of_a_factor_is_believed_before_its_name():
    assert OURS.with_level("threads", 4).levels == (("threads", 4),)
    assert OURS.with_level("threads", None) == OURS
    named = Belonging("f", "format", "tde", "2", (("threads", 8),))
    assert named.with_level("threads", 8) == named
    corrected = named.with_level("threads", 4)
    assert (corrected.levels, corrected.run) == ((("threads", 4),), "2, named threads 8")
    check_messages(corrected.cautions, coded("name-contradicted", factor="threads", named="8", said="4"))


def test_two_files_of_which_one_is_misnamed_are_two_runs():
    right = Belonging("a", "format", "tde", "1", (("threads", 4),)).with_level("threads", 4)
    wrong = Belonging("b", "format", "tde", "1", (("threads", 8),)).with_level("threads", 4)
    assert right.levels == wrong.levels
    assert right.run != wrong.run


@pytest.mark.parametrize(
    ("named", "said"), [("5 GB", "5gb"), (16, 16.0), (0.5, 0.5)], ids=lambda level: str(level).replace(" ", "")
)
def test_a_level_that_is_spelled_otherwise_is_no_contradiction(named, said):
    assert with_said((("cache", named),), "cache", said) == ((("cache", said),), None)


def test_a_word_that_only_tells_names_apart_contradicts_nothing():
    assert with_said((("name", "warm"), ("number", 3)), "name", "cold") == ((("number", 3), ("name", "cold")), None)


SAYING = [
    ("sysbench/sysbench-0.5.txt", "threads", 16),
    ("sysbench/hook.csv", "threads", 16),
    ("pgbench/pgbench-19.txt", "clients", 4),
    ("swingbench/results.xml", "threads", 4),
    ("hammerdb/summary.json", "threads", 4),
    ("benchbase/tpcc.summary.json", "threads", 4),
]


@pytest.mark.parametrize(("fixture", "factor", "said"), SAYING, ids=lambda value: str(value))
def test_every_format_is_believed_before_its_files_name_and_says_so(fixture, factor, said):
    path = FIXTURES / fixture
    naming = Naming("tde", levels=((factor, 99), ("cache", "5 GB")))
    observations = list(recognize(FileSource(path))[0].read(FileSource(path), naming))
    assert observations
    told = f"the file's name states {factor} 99, its content {said}, which is used"
    for found in observations:
        assert set(found.group.levels) == {("cache", "5 GB"), (factor, said)}
        assert found.group.run.endswith(f", named {factor} 99")
        assert told in texts(found.origin.cautions)
