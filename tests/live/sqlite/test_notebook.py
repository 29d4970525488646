"""The example notebook runs cell by cell, and what it keeps as its output is of a run that was answered."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest

import tdelta.api as td

NOTEBOOK = Path(__file__).parents[3] / "docs" / "notebook.ipynb"
BRIEF = {"size_bytes": 3_000_000, "trial_seconds": 0.03, "blocks_per_round": 2, "min_rounds": 1, "max_rounds": 1}


def cells() -> list[dict[str, Any]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


def test_every_cell_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(td, "run", functools.partial(td.run, **BRIEF, directory=tmp_path))
    names: dict[str, object] = {}
    for cell in cells():
        exec("".join(cell["source"]), names)  # noqa: S102 - it is ours
    said = capsys.readouterr().out
    assert isinstance(names["run"], td.Run)
    assert str(names["run"]) in said
    assert "response_time" in said


def test_its_output_is_kept_and_names_no_place_on_the_machine_that_made_it() -> None:
    assert all(cell["outputs"] for cell in cells())
    text = NOTEBOOK.read_text()
    assert "Traceback" not in text
    assert "/home/" not in text
    assert "/root/" not in text
