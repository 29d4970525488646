"""``pytest --costs``: the CPU seconds of each file's tests, children's included, the dearest file first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

BUSY = "import time\nwhile time.process_time() < 0.3:\n    pass\n"
FILES = {
    "test_child.py": f"""
import subprocess, sys
import pytest

@pytest.fixture(scope="module")
def child():
    yield
    subprocess.run([sys.executable, "-c", {BUSY!r}], check=True)

def test_a(child):
    pass

def test_b(child):
    pass
""",
    "test_idle.py": "def test_c():\n    pass\n",
}


@pytest.mark.parametrize("processes", [(), ("-n", "2", "--dist", "loadscope")], ids=["one process", "two"])
def test_a_file_with_a_busy_child_comes_first(tmp_path: Path, processes: tuple[str, ...]) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "support.cpu_costs", "--costs", "5", *processes, str(tmp_path)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = re.findall(r"^ +([\d.]+) s of CPU +[\d.]+ s by the clock  (\S+)$", ran.stdout, re.MULTILINE)
    assert [name for _, name in found] == ["test_child.py", "test_idle.py"], ran.stdout
    assert float(found[0][0]) >= 0.3 > float(found[1][0])
