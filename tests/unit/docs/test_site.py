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
    """The command lines of tdelta in a page's shell blocks, without comments."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars=";")
            words.whitespace_split = True
            for command in re.split(r" ; ", shlex.join(words).replace("';'", ";")):
                if command.startswith("tdelta "):
                    yield command


PAGES = [
    ROOT / "README.md",
    DOCS / "quickstart.md",
    DOCS / "tutorial.md",
    DOCS / "your-database.md",
    DOCS / "your-servers.md",
    DOCS / "existing-results.md",
    DOCS / "ci.md",
]

DOCUMENTED = [(page.name, command) for page in PAGES for command in commands(page)]


def test_every_page_has_commands() -> None:
    assert {page for page, _ in DOCUMENTED} == {page.name for page in PAGES}


@pytest.mark.parametrize(("page", "command"), DOCUMENTED)
def test_every_command_of_the_first_pages_parses(page: str, command: str) -> None:
    _tdelta, name, *words = shlex.split(command)
    COMMANDS[name].load().make_context(name, words)
