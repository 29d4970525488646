"""What every process of a live test begins with that is to run briefly: its folder is first on ``PYTHONPATH``.

As soon as a module below is imported, by tdelta, by its workers or by what a bench starts, a part of it is replaced:

- The floor under a page has 0.05 s of 0.8: nothing in these tests looks at its figures, tests/live/floor does. Unit
  costs are measured as briefly as there are quartiles of them.
- perf starts where it is asked for. A cost breakdown of a few trials often leaves a rest, for which it would be
  started: seconds of each such run, by chance.
- Cold trials drop the pages of their own files, and the whole system's only while a gocryptfs is mounted, whose
  decrypted pages nothing else reaches. As root they would drop them all before every operation: tenths of a second of
  CPU time where much is cached, and all tests beside read their programs from the disk again.
- The redo logs of MariaDB and MySQL have a quarter of their size: every instance is a copy, and every search reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

FLOOR_SECONDS = 0.05


def _set(module: ModuleType, **values: float) -> None:
    for name, value in values.items():
        assert hasattr(module, name), f"{module.__name__} has no {name} any more"
        setattr(module, name, value)


def _price_effort(module: ModuleType) -> None:
    _set(module, PASSES=3, LOG_PASSES=3, BLOCK_REPEATS=1, BLOCK_SECONDS=0.0, FLOOR_SECONDS=FLOOR_SECONDS)


def _profile(module: ModuleType) -> None:
    find = module.find_perf

    def where_asked() -> object:
        if "--profile" in sys.argv:
            return find()
        from tdelta.errors import EnvironmentFault
        from tdelta.messages import Refusal

        raise EnvironmentFault(Refusal.of("no-perf"))

    module.find_perf = where_asked


class _WhereNeeded:
    """The file that drops the whole system's pages; it refuses as it does to whoever is not root."""

    def __init__(self, drop: Path) -> None:
        self._drop = drop

    def write_text(self, text: str, encoding: str) -> None:
        if "fuse.gocryptfs" not in Path("/proc/self/mountinfo").read_text(encoding="utf-8"):
            raise PermissionError
        self._drop.write_text(text, encoding=encoding)


def _caches(module: ModuleType) -> None:
    module._DROP = _WhereNeeded(module._DROP)


def _redo_log(module: ModuleType) -> None:
    _set(module, LOG_BYTES=module.LOG_BYTES // 4)


REPLACED: dict[str, Callable[[ModuleType], None]] = {
    "tdelta.engines.shared.mysql_family": _redo_log,
    "tdelta.measure.caches": _caches,
    "tdelta.measure.price_effort": _price_effort,
    "tdelta.session.collectors.profile": _profile,
}


class Briefly:
    """Finds these modules as `PathFinder` does, and replaces once they are loaded."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in REPLACED or (spec := PathFinder.find_spec(name, path, target)) is None:
            return None
        assert spec.loader is not None
        load = spec.loader.exec_module

        def loaded(module: ModuleType) -> None:
            load(module)
            REPLACED[name](module)

        spec.loader.exec_module = loaded  # type: ignore[method-assign]
        return spec


if __name__ == "sitecustomize":  # tests import this for its figures
    sys.meta_path.insert(0, Briefly)  # type: ignore[arg-type]
