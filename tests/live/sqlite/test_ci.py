"""The shells in ``ci/`` with the real program and a small run: the answer is shown, in files that parsers read."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support import ci_shells as ci
from support.running import ANSWERED, BRIEF, PROGRAM, SMALL


@pytest.mark.parametrize("name", ci.SHELLS)
def test_a_job_measures_and_shows_its_answer(tmp_path: Path, name: str) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "tdelta"
    program.write_text(f"#!{sys.executable}\n{PROGRAM}", encoding="utf-8")
    program.chmod(0o755)
    given = {"TDELTA_BUDGET": "5000%", "TDELTA_ARGUMENTS": "\n".join(SMALL), **BRIEF}
    done = ci.SHELLS[name]().run(tmp_path, f"{program.parent}:/usr/bin:/bin", **given)
    assert done.returncode in (*ANSWERED, 4), done.stderr  # identical twins may be apart in so small a run
    folder = tmp_path / "tdelta-answer"
    document = json.loads((folder / "tdelta.json").read_text(encoding="utf-8"))
    assert document["exit_code"] == done.returncode
    root = ET.parse(folder / "tdelta.xml").getroot()
    is_passed = root.get("failures") == root.get("errors") == "0"
    assert is_passed is (done.returncode == 0)
    assert document["decision"] in (folder / "tdelta.md").read_text(encoding="utf-8")
    assert (folder / "tdelta.html").stat().st_size > 10_000
    if name == "github":
        assert (tmp_path / "summary.md").read_text(encoding="utf-8").startswith("### ")
        assert (tmp_path / "output").read_text(encoding="utf-8") == f"exit-code={done.returncode}\n"
