"""The project keeps to its line budget. ``python tests/unit/test_budget.py`` prints budget.toml for this tree.

A package may not be larger than its budget, nor more than 2 % smaller: whoever makes it smaller lowers the budget with
it. The number of wide lines and the statements per line of code are held as well, so that nobody meets a budget by
joining lines.
"""

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "python" / "tdelta"
TESTS = ROOT / "tests"
CAMPAIGNS = TESTS / "chaos"
WIDE = 110
SLACK = 0.02

HEAD = """\
# Lines of Python of each package (blank lines, comments and docstrings included); tests/unit/test_budget.py holds them.
# A budget falls with what is deleted and rises only if an issue allots the lines. The aim: 64,000 lines of product,
# 42,000 of tests without tests/chaos, 17,600 of Rust, 3,000 hand-written lines of docs.
"""


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if CAMPAIGNS not in path.parents)


def lines(paths: list[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def by_package(folder: Path) -> dict[str, int]:
    """Lines of each package in `folder`; the modules beside the packages count together, as "modules"."""
    packages = {path.name: lines(sources(path)) for path in sorted(folder.iterdir()) if path.is_dir()}
    packages["modules"] = lines(sorted(folder.glob("*.py")))
    return {name: count for name, count in packages.items() if count}


def wide_lines(paths: list[Path]) -> int:
    return sum(len(line) > WIDE for path in paths for line in path.read_text(encoding="utf-8").splitlines())


def statements_per_line(paths: list[Path]) -> float:
    """Statements per line of code: lines with at least one token of a statement, docstrings left out."""
    statements = code = 0
    for path in paths:
        occupied: set[int] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.stmt) or is_docstring(node):
                continue
            statements += 1
            occupied.update(own_lines(node))
        code += len(occupied)
    return statements / code


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def own_lines(node: ast.stmt) -> range:
    body = getattr(node, "body", None)
    last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno or node.lineno
    return range(node.lineno, max(last, node.lineno) + 1)


def measured() -> dict[str, dict[str, float]]:
    paths = sources(PRODUCT)
    return {
        "product": dict(by_package(PRODUCT)),
        "tests": dict(by_package(TESTS)),
        "style": {"wide_lines": wide_lines(paths), "statements_per_line": round(statements_per_line(paths) + 0.005, 2)},
    }


def budget() -> dict[str, dict[str, float]]:
    return tomllib.loads((ROOT / "budget.toml").read_text(encoding="utf-8"))


def test_no_package_is_larger_than_its_budget() -> None:
    over = {
        f"{part}.{name}": f"{count} lines, budget {budget()[part].get(name, 0)}"
        for part in ("product", "tests")
        for name, count in measured()[part].items()
        if count > budget()[part].get(name, 0)
    }
    assert over == {}


def test_budgets_follow_what_was_deleted() -> None:
    found = measured()
    loose = {
        f"{part}.{name}": f"{found[part].get(name, 0)} lines, budget {allowed}"
        for part in ("product", "tests")
        for name, allowed in budget()[part].items()
        if found[part].get(name, 0) < allowed * (1 - SLACK)
    }
    assert loose == {}


def test_lines_are_neither_wide_nor_joined() -> None:
    found = measured()["style"]
    assert {name: value for name, value in found.items() if value > budget()["style"][name]} == {}


def written(figures: dict[str, dict[str, float]]) -> str:
    text = HEAD
    for part, values in figures.items():
        text += f"\n[{part}]"
        if part != "style":
            text += f" # {sum(values.values()):,.0f} together"
        text += "".join(f"\n{name} = {value}" for name, value in values.items()) + "\n"
    return text


if __name__ == "__main__":
    sys.stdout.write(written(measured()))
