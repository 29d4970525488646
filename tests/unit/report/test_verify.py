import json
from dataclasses import replace
from pathlib import Path

import pytest

from support import readings as r
from support import samples as s
from tdelta.evidence.reading import ReadState
from tdelta.messages import Detail
from tdelta.records import CheckState, EvidenceState, Validity
from tdelta.report.document import to_json
from tdelta.report.drawing import draw
from tdelta.report.verify import (
    reading_exit_code,
    readings_blocks,
    readings_document,
    run_blocks,
    run_exit_code,
)


@pytest.mark.parametrize(("name", "code"), [("one_of_each", 4), ("absent", 0), ("without_marker", 0), ("nothing", 3)])
def test_the_exit_code_says_what_was_shown(name: str, code: int) -> None:
    assert reading_exit_code(*r.READINGS[name]()) == code


def test_mixed_files_without_a_marker_say_nothing_and_with_one_that_is_absent_they_do() -> None:
    mixed = tuple(one for one in r.one_of_each()[0] if one.state is ReadState.MIXED)
    empty = tuple(one for one in r.one_of_each()[0] if one.state is ReadState.EMPTY)
    markers = r.absent()[1]
    assert [reading_exit_code(mixed, ()), reading_exit_code(mixed, markers)] == [3, 0]
    assert [reading_exit_code(empty, ()), reading_exit_code(empty, markers)] == [3, 3]


def test_a_run_that_leaks_or_searches_in_vain_is_invalid_and_one_that_shows_nothing_undecided() -> None:
    shown = s.evidence(EvidenceState.ENCRYPTED, 0)
    valid = s.changed(s.slower(), evidence=shown, validity=())
    blind = replace(valid, validity=(Validity("search-finds", CheckState.FAILED, (Detail.verbatim("no"),)),))
    assert [run_exit_code(one) for one in (s.leaking(), blind, valid, s.slower())] == [4, 4, 0, 3]


def test_other_checks_of_a_run_are_not_its_evidence() -> None:
    other = Validity("settings", CheckState.FAILED, (Detail.verbatim("no"),))
    assert run_exit_code(replace(s.slower(), validity=(other,))) == 3
    assert "settings" not in draw(run_blocks(replace(s.leaking(), validity=(other,))), 100)


def test_a_folder_of_many_files_shows_the_plain_ones_first_and_says_how_many_are_left_out() -> None:
    random, plain = r.one_of_each()[0][:2]
    many = tuple(replace(random, path=r.FOLDER / f"{number:03}") for number in range(60))
    text = draw(readings_blocks(r.FOLDER, (*many, plain), ()), 100)
    assert text.index("app.db-wal") < text.index("000")
    assert "and 21 more: --json lists them all" in text
    document = readings_document(r.FOLDER, (*many, plain), (), 4)
    assert len(json.loads(to_json(document))["files"]) == 61


def test_a_single_file_is_called_by_its_name() -> None:
    reading = r.one_of_each()[0][0]
    assert "app.db " in draw(readings_blocks(reading.path, [reading], ()), 100)
    assert str(Path("/srv")) not in draw(readings_blocks(reading.path, [reading], ()), 100)


def test_a_file_with_a_marker_comes_before_all_others() -> None:
    readings, markers = r.one_of_each()
    text = draw(readings_blocks(r.FOLDER, (*r.server()[0], *readings), markers), 100)
    assert text.index("app.db-wal") < text.index("ib_logfile0")
