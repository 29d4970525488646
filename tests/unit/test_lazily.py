import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tdelta.inference
import tdelta.processes
import tdelta.session
import tdelta.store

PACKAGES = (tdelta.processes, tdelta.inference, tdelta.session, tdelta.store)
FOR_MANY = ("tdelta.records", "tdelta.evidence", "tdelta.inference", "tdelta.workloads", "numpy", "sqlglot")
"""Modules for planning, judging and searching alone; ``tdelta.records`` alone takes as long as all a worker needs."""


def names_for_type_checkers(package: ModuleType) -> list[str]:
    """The imports of a package under ``if TYPE_CHECKING``: the names that it promises."""
    (block,) = (node for node in ast.parse(Path(package.__file__ or "").read_text()).body if isinstance(node, ast.If))
    return [alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_of_a_package_is_found(package: ModuleType) -> None:
    names = names_for_type_checkers(package)
    assert names
    assert all(getattr(package, name) is not None for name in names)
    with pytest.raises(AttributeError):
        package.nothing  # noqa: B018


@pytest.mark.parametrize(
    "module",
    [
        "tdelta.processes.worker",
        "tdelta.engines.sqlite.worker",
        "tdelta.processes.servers.supervisor",
        "tdelta.processes.supervisor",
        "tdelta.processes.cipher_cost_worker",
    ],
)
def test_a_process_of_a_run_loads_nothing_that_only_the_run_needs(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(sys.modules.keys() & {set(FOR_MANY)}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"


WORKERS = tuple(f"tdelta.{name}.worker" for name in ("processes", "engines.sqlite", "engines.duckdb"))
NOT_FOR_WORKERS = (
    *("dataclasses", "inspect", "subprocess", "tempfile", "hashlib", "importlib.metadata", "numpy", "sqlglot"),
    *("tdelta.errors", "tdelta.messages", "sqlite3"),
)
"""Modules that take as long together as all that a worker needs, or a SQLite other than the one under test."""


@pytest.mark.parametrize("module", [*WORKERS, "tdelta.processes.cipher_cost_worker"])
def test_a_worker_loads_only_what_it_works_with(module: str) -> None:
    program = f"import sys, {module}; print(*sorted(sys.modules.keys() & {set(NOT_FOR_WORKERS)}))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"
