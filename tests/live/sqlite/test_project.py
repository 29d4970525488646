import shutil
from pathlib import Path

import tdelta.workloads
from support.running import ANSWERED, Place

PROJECT = """
workload = "workload"
size = "3MB"
trial-time = "0.03s"
blocks = 2
rounds = "2..2"
max-time = "300s"
no-bb = true
labels = ["ci"]
"""


def test_a_fresh_clone_runs_and_its_run_answers_from_a_pack(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    place = Place(clone / "below")
    place.base.mkdir(parents=True)
    of = Path(tdelta.workloads.__file__).parent / "point_select"
    shutil.copytree(of, clone / "workload", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    (clone / "tdelta.toml").write_text(PROJECT, encoding="utf-8")
    ran = place.tdelta("run", "--json")
    assert ran.answer["settings"]["options"]["workload"] == str(clone / "workload")
    assert place.tdelta("pack", "ci", "-o", "run.tdelta").code == 0
    packed = place.tdelta("show", "run.tdelta", "--json")
    assert (packed.code, packed.document) == (ran.code, ran.document)
    assert packed.code in (*ANSWERED, 4)
