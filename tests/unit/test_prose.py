"""Tests look at codes, fields and states: those that look at English make every rewording dangerous, and get fewer.

What they look at is tdelta's English where three words of it in a row, or its only two, stand in a string of the
package: the words of databases, of commands and of the test's own data are not tdelta's to change. Looked at is what
``match=`` takes, what stands beside ``in``, ``not in`` or ``==`` in an assertion, itself or by a parameter of the test,
what ``startswith`` and its like are asked for, and what `tdelta_refused` is to find as a parameter of a message.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "python" / "tdelta"
ALLOWED = {
    "golden": "the texts as a user reads them are what they hold",
    "unit/messages": "the catalogues' templates, and how they are filled in",
    "unit/report": "the renderers, whose product is text",
    "unit/docs": "what the documentation says",
    "unit/cli/test_help.py": "the text of --help, the man page and completions",
    "unit/cli/test_documented.py": "option tables of the documentation",
    "unit/test_prose.py": "this",
    "unit/test_words.py": "words that users must not read",
}
CEILING = 9
"""How many do at most. Lower it as they get fewer; it is not to be raised."""

_RUN = re.compile(r"(?<![\w-])(?:[A-Za-z][a-z]*[,:;]? )+[a-z]+(?![\w-])")
_CODED = {"refused", "coded", "has", "check_messages"}
_ASKED = {"startswith", "endswith", "count", "removeprefix", "partition"}


def test_fewer_and_fewer_tests_look_at_english() -> None:
    found = sorted(
        f"{path.relative_to(TESTS)}: {test.name}"
        for path in TESTS.rglob("*.py")
        if not any(path.relative_to(TESTS).is_relative_to(allowed) for allowed in ALLOWED)
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_") and looks_at_english(test)
    )
    assert len(found) <= CEILING, f"{len(found)}, at most {CEILING}: assert codes instead\n" + "\n".join(found)


def looks_at_english(test: ast.FunctionDef) -> bool:
    """Whether a test does."""
    given = set(_english_parameters(test))
    return any(_is_english(part, given) for part in _looked_at(test))


def _looked_at(test: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(test):
        match node:
            case ast.keyword(arg="match", value=value):
                yield value
            case ast.Call(func=ast.Name(id="Part"), args=parts):
                yield from parts
            case ast.Call(func=ast.Name(id=name), keywords=parameters) if name in _CODED:
                yield from (parameter.value for parameter in parameters)
            case ast.Assert(test=asserted):
                for part in ast.walk(asserted):
                    match part:
                        case ast.Compare(left=left, ops=operators, comparators=others):
                            yield left
                            if any(isinstance(one, ast.Eq | ast.NotEq) for one in operators):
                                yield from others
                        case ast.Call(func=ast.Attribute(attr=name), args=arguments) if name in _ASKED:
                            yield from arguments
                        case ast.comprehension(iter=ast.Tuple() | ast.List() as several):
                            yield several


def _is_english(node: ast.AST, given: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="escape")):
            return any(_is_english(argument, given) for argument in node.args)
        case ast.Call() | ast.Subscript():
            return False
        case ast.Name(id=name):
            return name in given
        case ast.Constant(value=str(text)):
            return any(_is_ours(run) for run in _RUN.findall(text.replace(".*", "\n")))
    return any(_is_english(child, given) for child in ast.iter_child_nodes(node))


def _is_ours(run: str) -> bool:
    words = run.split(" ")
    return any(" ".join(words[at : at + 3]) in _texts() for at in range(max(1, len(words) - 2)))


@cache
def _texts() -> str:
    """Every string of the package with a space in it, without docstrings."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Expr(value=ast.Constant() as docstring):
                    docstring.value = ""
                case ast.Constant(value=str(text)) if " " in text:
                    found.append(text)
    return "\n".join(found)


def _english_parameters(test: ast.FunctionDef) -> Iterator[str]:
    """The parameters of a parametrized test which are English in one case at least."""
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(
                func=ast.Attribute(attr="parametrize"),
                args=[names_node, ast.List(elts=cases) | ast.Tuple(elts=cases), *_],
            ):
                for at, name in enumerate(_names(names_node)):
                    if any(_is_english(_value(case, at), set()) for case in cases):
                        yield name


def _names(node: ast.expr) -> list[str]:
    match node:
        case ast.Constant(value=str(names)):
            return [name.strip() for name in names.split(",")]
        case ast.Tuple(elts=several) | ast.List(elts=several):
            return [str(one.value) for one in several if isinstance(one, ast.Constant)]
    return []


def _value(case: ast.expr, at: int) -> ast.expr:
    match case:
        case ast.Call(func=ast.Attribute(attr="param"), args=several) | ast.Tuple(elts=several) if at < len(several):
            return several[at]
    return case
