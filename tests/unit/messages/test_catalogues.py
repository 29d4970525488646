"""Every code that is written stands in its catalogue, with the parameters of its template, and no other does."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import tdelta
from tdelta.engines.registry import profile
from tdelta.messages import Caution, Detail, Message, Reason, Refusal, RunPart, refusals
from tdelta.messages import checks as names_of_checks
from tdelta.messages.analysis import ANALYSIS_REASONS
from tdelta.messages.catalogue import REASONS, UNEXPLAINED_REASONS
from tdelta.messages.cautions import CAUTIONS
from tdelta.messages.checks import CHECKS
from tdelta.messages.imported import IMPORTED_CAUTIONS
from tdelta.messages.instrument import INSTRUMENT_CAUTIONS, INSTRUMENT_REASONS
from tdelta.messages.message import TEXT, fields_of

SOURCE = Path(tdelta.__file__).parent
OF_ENGINES = {
    file.parent.name: import_module(f"tdelta.engines.{file.parent.name}.messages")
    for file in sorted((SOURCE / "engines").glob("*/messages.py"))
}
BY_ENGINE: dict[str, type[Message]] = {
    profile(engine).product: kind
    for engine, module in OF_ENGINES.items()
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Message) and kind.__module__ == module.__name__
}
COMMON: tuple[type[Message], ...] = (Detail, Caution, Reason, Refusal, RunPart)
KINDS: dict[str, type[Message]] = {kind.__name__: kind for kind in (*COMMON, *BY_ENGINE.values())}
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@cache
def trees() -> tuple[tuple[Path, ast.Module], ...]:
    files = [file for file in sorted(SOURCE.rglob("*.py")) if SOURCE / "messages" not in file.parents]
    return tuple((file, ast.parse(file.read_text(encoding="utf-8"))) for file in files)


def written() -> Iterator[tuple[str, str, str, frozenset[str], bool]]:
    for file, tree in trees():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=kind), attr="of")) if kind in KINDS:
                    where = f"{file.relative_to(SOURCE)}:{node.lineno}"
                    (code,) = node.args
                    assert isinstance(code, ast.Constant), f"{where}: the code is not written out"
                    given = frozenset(keyword.arg for keyword in node.keywords if keyword.arg is not None)
                    yield kind, str(code.value), where, given, any(keyword.arg is None for keyword in node.keywords)


def test_every_code_of_the_source_stands_in_its_catalogue_and_takes_the_parameters_it_is_given() -> None:
    for kind, code, where, given, may_be_more in written():
        templates = KINDS[kind].TEMPLATES
        assert code in templates, f"{where}: {kind} has no {code}"
        takes = fields_of(templates[code])
        assert given <= takes if may_be_more else given == takes, f"{where}: {code} takes {sorted(takes)}"


@pytest.mark.parametrize("kind", KINDS)
def test_every_code_of_a_catalogue_is_used_and_is_kebab_case(kind: str) -> None:
    used = {code for of, code, *_ in written() if of == kind}
    assert set(KINDS[kind].TEMPLATES) == used
    assert all(KEBAB.fullmatch(code) for code in used)
    assert TEXT not in used


@pytest.mark.parametrize("product", BY_ENGINE)
def test_a_code_of_an_engine_is_none_of_the_common_catalogue(product: str) -> None:
    assert not Refusal.TEMPLATES.keys() & BY_ENGINE[product].TEMPLATES.keys()


def test_nothing_is_said_without_a_code() -> None:
    calls = [
        file.relative_to(SOURCE).as_posix()
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "verbatim"
    ]
    assert calls == []


def test_no_code_stands_in_two_modules_of_the_catalogue() -> None:
    areas = [one for name, one in vars(refusals).items() if isinstance(one, dict) and name.isupper()]
    assert sum(map(len, areas)) == 2 * len(Refusal.TEMPLATES), "of all areas, and of all together"
    assert len(CAUTIONS) + len(IMPORTED_CAUTIONS) + len(INSTRUMENT_CAUTIONS) == len(Caution.TEMPLATES)
    assert sum(map(len, (REASONS, ANALYSIS_REASONS, INSTRUMENT_REASONS, UNEXPLAINED_REASONS))) == len(Reason.TEMPLATES)


def test_every_name_of_a_check_is_a_constant_that_the_source_uses() -> None:
    constants = {name: value for name, value in vars(names_of_checks).items() if isinstance(value, str)}
    constants = {name: value for name, value in constants.items() if not name.startswith("_")}
    assert set(constants.values()) == set(CHECKS)
    used = {node.id for _, tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert constants.keys() <= used
    assert all(KEBAB.fullmatch(code) for code in CHECKS)


HABITS = re.compile(
    r"\b(twins?|HDI|conditions|realised|anew|hardly|whatever|beside|anyhow|mend\w*|stands?|lies?|told|tells?|met"
    r"|asked|says?|said|what|where|in force|to be had|so many|as many|over plain|decides nothing|is to|are to"
    r"|ROPE|luck|labour|licence|colour|neighbour|behaviour|favour)\b|, too([.;]|$)|\d %|found none|expected with"
)
MOST_WORDS = 35


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_short_and_without_the_habits_that_readers_stumble_over(kind: str) -> None:
    for code, template in KINDS[kind].TEMPLATES.items():
        text = re.sub(r"\{[^}]*\}", "X", template.replace("{{", "").replace("}}", ""))
        assert not (found := HABITS.search(text)), f"{kind} {code}: {found}"
        assert max(len(sentence.split()) for sentence in re.split(r"[.;?]\s", text)) <= MOST_WORDS, f"{kind} {code}"
