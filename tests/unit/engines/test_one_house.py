"""Only the modules in engines/ name an engine."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tdelta

HOUSE = Path(tdelta.__file__).parent
ENGINES = re.compile(
    "sqlite|sqlcipher|apsw|duckdb|mariadb|mysql|percona|innodb|postgres|pg_tde|libpq|oracle|sqlserver",
    re.IGNORECASE,
)

EXCUSED = {
    "cli/main.py": "examples of where to begin",
    "importers": "what stands in the files of other tools",
    "store": "it is an SQLite file itself, read by Python's own sqlite3",
    "workloads/sql.py": "names in a workload are checked by Python's own sqlite3, whatever engine it is for",
    "measure/machine.py": "what tdelta itself was installed with",
    "session/declared.py": "help texts say for whom an option is, with examples",
    "design/takes.py": "so do refusals of options",
    "processes/load_generator": "what the commands of other tools take: their protocols, options and variables",
    "evidence/headers.py": "what the first bytes of files say, those of no engine among them, without a run",
}
"""Modules outside engines/ that may name an engine, and why."""


def sources() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(HOUSE.rglob("*.py")):
        yield path.relative_to(HOUSE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def docstrings(tree: ast.Module) -> set[int]:
    """Strings that stand by themselves: text for readers of the code."""
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def names(tree: ast.Module) -> Iterator[str]:
    """Every word of the code: names, imports and strings."""
    texts = docstrings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() as text) if id(node) not in texts:
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.arg(arg=name):
                yield name
            case ast.ImportFrom(module=str() as name) | ast.keyword(arg=str() as name):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def is_within(file: str, places: dict[str, str]) -> bool:
    return any(file == place or file.startswith(f"{place}/") for place in places)


def test_no_module_outside_the_engines_folder_names_an_engine() -> None:
    found = {
        file: sorted(set(filter(ENGINES.search, names(tree))))
        for file, tree in sources()
        if not file.startswith("engines/") and not is_within(file, EXCUSED)
    }
    assert {file: words for file, words in found.items() if words} == {}


def test_nothing_is_excused_that_names_no_engine() -> None:
    naming = [file for file, tree in sources() if any(map(ENGINES.search, names(tree)))]
    assert [place for place in EXCUSED if not any(is_within(file, {place: ""}) for file in naming)] == []
