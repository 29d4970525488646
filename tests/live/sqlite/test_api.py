"""`tdelta.api` in another program, in its main thread and in another: the same experiment, the signals untouched."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tdelta.api as td
from support.refused import refused
from support.running import Place
from tdelta.errors import UnknownName, UsageError
from tdelta.processes import signals
from tdelta.records import Decision, Event

BRIEF = {"size_bytes": 3_000_000, "trial_seconds": 0.03, "blocks_per_round": 2, "min_rounds": 1, "max_rounds": 1}


HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def handlers() -> list[object]:
    return [signal.getsignal(number) for number in HANDLED]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> td.Run:
    base = tmp_path_factory.mktemp("api")
    places = {"store": str(base / "runs.sqlite"), "directory": str(base)}
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: td.run(**BRIEF, **places, bb_control=False, max_seconds=120)).result()


def test_no_signal_of_the_program_is_handled_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "_are_ours", False)  # another test of this process may have run the command line
    before, during = handlers(), []

    def observe(_event: Event) -> None:
        during.append(handlers())

    td.run(**BRIEF, bb_control=False, store=tmp_path / "runs.sqlite", directory=tmp_path, observer=observe)
    assert len(during) > 5
    assert all(seen == before for seen in during)
    assert handlers() == before


def test_a_run_says_what_it_found(found: td.Run) -> None:
    assert str(found) == found.answer == found.to_dict()["sentence"]
    assert found.run_id in repr(found)
    assert found.verdicts[0].primary
    low, high = found.verdicts[0].ratio.hdi95
    assert low < found.verdicts[0].ratio.median < high
    assert found.to_dict()["exit_code"] == found.exit_code
    assert isinstance(found.decision, Decision)


def test_its_trials_are_columns_of_one_length(found: td.Run) -> None:
    columns = found.trials()
    assert {len(values) for values in columns.values()} == {found.result.counts.trials}
    assert set(columns["cipher"]) == {"none", "aes-256"}
    assert min(columns["response_mean_ns"]) > 0  # type: ignore[type-var, operator]


def test_a_notebook_shows_its_page_in_a_frame(found: td.Run) -> None:
    page = found.to_html()
    assert page.startswith("<!DOCTYPE html>")
    frame = ElementTree.fromstring(found._repr_html_())
    assert (frame.tag, "sandbox" in frame.attrib) == ("iframe", True)
    assert " ".join(frame.attrib["srcdoc"].split()) == " ".join(page.split())  # XML reads a line's end as a space


def test_it_is_loaded_again_and_the_command_line_says_the_same(found: td.Run) -> None:
    assert found.store is not None
    again = td.load(found.run_id[:6], store=found.store)
    assert again.to_dict() == found.to_dict()
    program = [sys.executable, "-m", "tdelta", "show", "--json", "--store", str(found.store)]
    shown = subprocess.run(program, capture_output=True, text=True, check=False)
    assert json.loads(shown.stdout) == json.loads(json.dumps(found.to_dict()))
    assert shown.returncode == found.exit_code


def test_the_same_request_as_the_command_lines(found: td.Run, tmp_path: Path) -> None:
    place = Place(tmp_path)
    options = ("--size", "3MB", "--trial-time", "0.03s", "--blocks", "2", "--rounds", "1..1", "--max-time", "120s")
    ran = place.tdelta("run", "--json", *options, "--no-bb")
    theirs, ours = ran.document["settings"], json.loads(json.dumps(found.to_dict()["settings"]))
    differ = {name for name in theirs if theirs[name] != ours[name]}
    assert differ <= {"run_id", "seed", "repeat", "options", "store"}


def test_what_there_is_not_is_named(tmp_path: Path) -> None:
    with refused(UnknownName, "unknown", kind="option", found="max_second"):
        td.run(max_second=3)
    with refused(UnknownName, "unknown", kind="option", found="tolerances"):
        td.analyze("x", tolerances=1)
    with refused(UsageError, "no-run"):
        td.load(store=tmp_path / "none.sqlite")


def test_files_of_other_tools_are_judged(tmp_path: Path) -> None:
    for side, base in (("plain", 10.0), ("tde", 12.0)):
        (tmp_path / side).mkdir()
        for number in range(3):
            lines = "\n".join(str(base + 0.01 * number + 0.001 * (k % 7)) for k in range(200))
            (tmp_path / side / f"run{number}.csv").write_text(f"response_ms\n{lines}\n")
    found = td.analyze(tmp_path / "plain", tmp_path / "tde", tolerance=0.05)
    assert found.decision is Decision.SLOWER
    assert found.comparisons
    assert "tde" in str(found)
    assert found.to_html().startswith("<!DOCTYPE html>")
