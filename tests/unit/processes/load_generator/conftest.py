"""Programs that do nothing, so that commands can be checked where the real ones are not installed."""

from pathlib import Path

import pytest


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with sysbench, pgbench and a few others in it."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("sysbench", "pgbench", "sh", "mysql", "taskset", "env", "mytool"):
        program = folder / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder
