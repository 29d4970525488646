"""The peers' own faults, which would be taken for an engine's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).parents[2] / "peers"

TWO_THREADS = """
import threading
from sqlglot.dialects import dialect
from replaying import transpiled

text = "SELECT a FROM t ORDER BY a FETCH FIRST 10 ROWS ONLY"
found, half_made, second_ended = [], threading.Event(), threading.Event()
made = dialect.new_trie


def slowly(*given):
    if "sqlite" in dialect._Dialect._classes and not half_made.is_set():
        half_made.set()
        second_ended.wait(1.0)
    return made(*given)


def second():
    half_made.wait()
    found.append(transpiled(text, "oracle"))
    second_ended.set()


dialect.new_trie = slowly
other = threading.Thread(target=second)
other.start()
found.append(transpiled(text, "oracle"))
other.join()
assert half_made.is_set()
for written in sorted(set(found)):
    print(written)
"""


def test_a_statement_is_written_the_same_while_another_thread_still_loads_the_dialect() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TWO_THREADS], capture_output=True, text=True, cwd=PEERS, check=False, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["SELECT a FROM t ORDER BY a LIMIT 10"]
