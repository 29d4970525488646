"""Imported by Python at its start: traces a process of a run for `tests/unit/test_ways.py`, and nothing else."""

import importlib.util
import os
from pathlib import Path


def _trace() -> None:
    found = os.environ.get("TDELTA_WAYS", "")
    if not found:
        return
    folder, _, level = found.rpartition(":")
    spec = importlib.util.spec_from_file_location("ways", Path(__file__).parent / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.Ways(level, Path(folder) / f"{os.getpid()}.ways").start()


_trace()
