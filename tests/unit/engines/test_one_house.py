"""One house: what knows an engine stands in its folder, and nothing is wider than a reader can hold."""

from __future__ import annotations

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
    "measure/versions.py": "what tdelta itself was installed with",
    "session/declared": "help texts say for whom an option is, with examples",
    "session/studies.py": "a study is a published experiment on an engine",
    "session/published.py": "as above",
    "driver/load_command": "what the commands of other tools take: their protocols, options and variables",
    "evidence/headers.py": "what the first bytes of files say, those of no engine among them, without a run",
}
"""Where the names of engines may stand, and why."""

MOST_MEMBERS, MOST_FIELDS, MOST_PARAMETERS = 12, 20, 8


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


def test_protocols_records_and_constructors_are_small() -> None:
    assert dict(widths()) == {}


def widths() -> Iterator[tuple[str, str]]:
    """Every class that is wider than a reader can hold, with what it is."""
    for _file, tree in sources():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and "ClassVar" not in ast.dump(one)]
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            is_protocol = any("Protocol" in ast.unparse(base) for base in node.bases)
            if is_protocol and len(fields) + len(methods) > MOST_MEMBERS:
                yield node.name, "protocol"
            if any("dataclass" in ast.unparse(one) for one in node.decorator_list) and len(fields) > MOST_FIELDS:
                yield node.name, "record"
            made = next((one.args for one in methods if one.name == "__init__"), None)
            if made is not None and len(made.args) + len(made.kwonlyargs) - 1 > MOST_PARAMETERS:
                yield node.name, "constructor"
