"""A run that an earlier version began, killed in the first block of its second round: it goes on, or says why not.

``before-state.db`` is its store, as it was left but for the folder's name, the kernel's, and the checkpoint of the log.
That version kept facts where there is a state now, and sealed nothing.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from tdelta.measure import library_versions

from .running import Place

STORED = Path(__file__).parents[2] / "data" / "results" / "before-state.db"
FOLDER = "/tmp/earlier"  # noqa: S108 - a name to be replaced
LIBRARY = "apsw-sqlite3mc"


def left_behind(place: Place, versions: Mapping[str, str]) -> None:
    """The stored run in this place, as if it had been measured with these versions of libraries."""
    place.store.parent.mkdir(parents=True)
    shutil.copy(STORED, place.store)
    db = sqlite3.connect(place.store)
    db.execute("UPDATE runs SET settings = replace(settings, ?, ?)", (FOLDER, str(place.base)))
    db.execute("UPDATE runs SET versions = ?", (json.dumps(dict(versions)),))
    library = json.dumps(f"{LIBRARY} {versions[LIBRARY]}")
    db.execute("UPDATE run_facts SET value = ? WHERE key = 'library'", (library,))
    db.commit()
    db.close()


def test_a_killed_run_of_an_earlier_version_goes_on_to_its_answer(place: Place) -> None:
    left_behind(place, library_versions())
    before = place.query("SELECT block, condition, operations, elapsed_ns FROM trials ORDER BY trial")
    assert len(before) == 9
    ran = place.tdelta("run", "--resume", "last", "--json")
    document = ran.answer
    assert place.query("SELECT block, condition, operations, elapsed_ns FROM trials ORDER BY trial")[:9] == before
    assert document["counts"]["rounds"] == 4, "one was cut short"
    assert document["counts"]["trials"] == 21
    assert len(place.query("SELECT DISTINCT operations FROM trials")) == 1


def test_a_killed_run_of_other_libraries_says_why_it_does_not_go_on(place: Place) -> None:
    left_behind(place, library_versions() | {LIBRARY: "3.0.0"})
    ran = place.tdelta("run", "--resume", "last")
    assert ran.code == 2
    assert f"{LIBRARY} 3.0.0 → " in ran.err
    assert len(place.query("SELECT 1 FROM trials")) == 9


def test_what_a_killed_run_of_an_earlier_version_has_can_be_exported(place: Place) -> None:
    left_behind(place, library_versions())
    ran = place.tdelta("export", "last", "--format", "csv")
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 1 + 9
