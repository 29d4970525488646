import json
from pathlib import Path

import pytest

from tdelta.errors import ImportFault
from tdelta.importers.hyperfine import IMPORTERS, Hyperfine
from tdelta.importers.importer import Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Figure, Samples

from .given import FIXTURES, read, written

FILE = FIXTURES / "hyperfine/hyperfine-1.15.json"


def results(*commands: tuple[str, dict[str, str]], times: object = (0.5, 0.25)) -> str:
    entries = [
        {
            "command": name,
            "times": times,
            "user": 0.001,
            "system": 0.002,
            "exit_codes": [0, 0],
            "parameters": parameters,
        }
        for name, parameters in commands
    ]
    return json.dumps({"results": entries})


def test_commands_named_for_conditions_are_conditions():
    assert Hyperfine().says_conditions(FileSource(FILE))
    found = [it for it in read(IMPORTERS, FILE, Naming(None)) if isinstance(it, Samples)]
    assert [(it.group.condition, it.group.transaction, it.count) for it in found] == [
        ("plain", "all", 12),
        ("tde", "all", 12),
    ]
    assert found[0].total == pytest.approx(12 * 24.19561567)
    assert found[0].minimum == pytest.approx(21.463466)


def test_cpu_time_of_a_command_is_a_figure():
    found = [it for it in read(IMPORTERS, FILE, Naming(None)) if isinstance(it, Figure)]
    assert {it.group.metric for it in found} == {"cpu"}
    assert found[1].value == pytest.approx(1.23458333 + 0.10791667)


def test_parameters_are_levels():
    found = [
        it for it in read(IMPORTERS, FIXTURES / "hyperfine/hyperfine-1.15-parameters.json") if isinstance(it, Samples)
    ]
    assert [(it.group.transaction, it.group.levels) for it in found] == [("all", (("d", 1),)), ("all", (("d", 2),))]


def test_a_parameter_that_is_the_condition_is_no_level(tmp_path: Path):
    commands = [(f"q {load} --tde={tde}", {"load": load, "tde": tde}) for load in ("a", "b") for tde in ("on", "off")]
    path = written(tmp_path, results(*commands))
    assert Hyperfine().says_conditions(FileSource(path))
    found = [it.group for it in read(IMPORTERS, path, Naming(None)) if it.group.metric == "response_time"]
    assert [(it.condition, it.levels) for it in found] == [
        ("tde-on", (("load", "a"),)),
        ("tde-off", (("load", "a"),)),
        ("tde-on", (("load", "b"),)),
        ("tde-off", (("load", "b"),)),
    ]


def test_other_commands_are_transactions(tmp_path: Path):
    path = written(tmp_path, results(("q1.sh", {}), ("q2.sh", {})))
    assert not Hyperfine().says_conditions(FileSource(path))
    assert {it.group.transaction for it in read(IMPORTERS, path)} == {"q1.sh", "q2.sh"}


def test_runs_that_failed_are_left_out(tmp_path: Path):
    text = results(("q", {})).replace("[0, 0]", "[1, 0]")
    (found,) = (it for it in read(IMPORTERS, written(tmp_path, text)) if isinstance(it, Samples))
    assert found.total == 250
    assert [it.code for it in found.origin.cautions] == ["rows-failed"]


@pytest.mark.parametrize("times", [None, [], ["x"], [-1.0], [1e300], {"a": 1}])
def test_times_that_are_none_are_a_fault(tmp_path: Path, times: object):
    with pytest.raises(ImportFault) as raised:
        read(IMPORTERS, written(tmp_path, results(("q", {}), times=times)))
    assert raised.value.refusals[0].code == "unexpected"
