import json
import os
import subprocess
import sys
from pathlib import Path

from support.processes import until
from tdelta.ray.fleet_run import FOLDERS

REFUSED = ["--engine", "nonsense"]


def begun(temporary: Path) -> subprocess.Popen[bytes]:
    """A run that will be refused, on a node with that folder for temporary files."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tdelta.ray.fleet_run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps({"words": REFUSED}).encode() + b"\n")
    process.stdin.flush()
    return process


def test_a_run_that_is_refused_is_answered_with_its_code_and_what_it_said(tmp_path: Path) -> None:
    with begun(tmp_path) as process:
        assert process.stdout is not None
        found = json.loads(process.stdout.readline())
    assert (found["code"], found["run_id"], found["pack"]) == (2, "", "")
    assert "nonsense" in found["said"]
    assert process.returncode == 0
    assert not list(tmp_path.glob(f"{FOLDERS}*"))


def test_a_process_that_ray_kills_with_its_parent_leaves_no_folder(tmp_path: Path) -> None:
    with begun(tmp_path) as process:
        until(lambda: list(tmp_path.glob(f"{FOLDERS}*")), every=0.001)
        process.kill()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.read()  # until nobody can write there any more
    assert not list(tmp_path.glob(f"{FOLDERS}*"))
