"""The way of one trial, as docs/architecture.md draws it: each file and function is there, and it is short."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tdelta

MOST_HOPS = 35
OVER_A_PIPE = "serve"
HOUSE = Path(tdelta.__file__).parent
REPOSITORY = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\d+) \| `([\w.]+)` \| `([\w./-]+)` \| ", re.MULTILINE)


@dataclass(frozen=True)
class Hop:
    number: int
    function: str
    file: str

    @property
    def path(self) -> Path:
        return REPOSITORY / self.file if self.file.startswith("crates/") else HOUSE / self.file

    @property
    def name(self) -> str:
        return self.function.rpartition(".")[2]


HOPS = tuple(
    Hop(int(number), function, file)
    for number, function, file in ROW.findall((REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8"))
)


def defined(path: Path) -> Iterator[str]:
    """The functions and classes of a file; methods with their class before them."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        yield from re.findall(r"\bfn (\w+)", text)
        return
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef))


def test_one_trial_takes_few_hops_from_the_command_to_the_sentence() -> None:
    assert [hop.number for hop in HOPS] == list(range(1, len(HOPS) + 1))
    assert 1 < len(HOPS) <= MOST_HOPS
    assert (HOPS[0].file, HOPS[-1].file) == ("cli/run.py", "report/sentence.py")


@pytest.mark.parametrize("hop", HOPS, ids=lambda hop: f"{hop.number}-{hop.function}")
def test_each_hop_is_a_function_that_is_there(hop: Hop) -> None:
    assert hop.function in set(defined(hop.path))


@pytest.mark.parametrize(
    "hop", [hop for hop in HOPS[1:] if hop.name != OVER_A_PIPE], ids=lambda hop: f"{hop.number}-{hop.function}"
)
def test_each_hop_is_named_in_the_file_of_one_before_it(hop: Hop) -> None:
    before = {other.path for other in HOPS[: hop.number - 1]}
    assert any(re.search(rf"\b{hop.name}\b", path.read_text(encoding="utf-8")) for path in before)
