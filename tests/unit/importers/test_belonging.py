"""Whose figures a file holds."""

from __future__ import annotations

import pytest

from tdelta.errors import ImportFault
from tdelta.importers import benchbase, hammerdb, swingbench
from tdelta.importers.belonging import Belonging
from tdelta.importers.protocol import Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Origin

from .given import FIXTURES, only

OURS = Belonging("f", "format", "tde", "2", ())
EVERY = sorted(path for tool in ("swingbench", "hammerdb", "benchbase") for path in (FIXTURES / tool).iterdir())
IMPORTERS = (*swingbench.IMPORTERS, *hammerdb.IMPORTERS, *benchbase.IMPORTERS)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_a_file_without_a_condition_is_refused_with_the_option_that_names_it(path):
    with pytest.raises(ImportFault, match="--condition NAME="):
        list(only(IMPORTERS, path).read(FileSource(path), Naming(None)))


def test_a_file_with_one_run_keeps_its_name_and_several_are_numbered():
    assert OURS.of_run(1, 1).run == "2"
    assert OURS.of_run(3, 5).run == "2.3"


def test_cautions_of_the_file_come_before_those_of_a_figure():
    assert OURS.noting("a").origin(3, "b") == Origin("f", "format", 3, ("a", "b"))


def test_a_level_that_the_file_says_is_taken_unless_the_name_says_it():
    assert OURS.with_level("threads", 4).levels == (("threads", 4),)
    assert OURS.with_level("threads", None) == OURS
    named = Belonging("f", "format", "tde", "2", (("threads", 8),))
    assert named.with_level("threads", 8) == named
    assert named.with_level("threads", 4).levels == (("threads", 8),)
    assert "'8'" in named.with_level("threads", 4).cautions[0]
