"""The commands in the documentation are commands of tdelta. `make site` looks for broken links and lost pages."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdelta.cli.commands import entries

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
COMMANDS = {entry.name: entry for entry in entries()}


def commands(page: Path) -> Iterator[str]:
    """The command lines of tdelta in a page's shell blocks, without what comments say of them."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars=";")
            words.whitespace_split = True
            for command in re.split(r" ; ", shlex.join(words).replace("';'", ";")):
                if command.startswith("tdelta "):
                    yield command


DOCUMENTED = [
    (page.name, command)
    for page in (ROOT / "README.md", DOCS / "tutorial.md", DOCS / "examples.md")
    for command in commands(page)
]


def test_every_page_has_commands() -> None:
    assert {page for page, _ in DOCUMENTED} == {"README.md", "tutorial.md", "examples.md"}


@pytest.mark.parametrize(("page", "command"), DOCUMENTED)
def test_every_command_of_the_first_pages_parses(page: str, command: str) -> None:
    _tdelta, name, *words = shlex.split(command)
    COMMANDS[name].load().make_context(name, words)
