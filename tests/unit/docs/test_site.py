"""The documentation holds together: every page has its place, every link its target, every command its options.

`make site` builds the same pages strictly; what it builds with is not needed here.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdelta.cli.commands import entries

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BESIDE = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
SITE = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
COMMANDS = {entry.name: entry for entry in entries()}

_FENCE = re.compile(r"^(```+).*?^\1\s*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+?)\s*#*$", re.MULTILINE)


def prose(page: Path) -> str:
    """A page without its blocks and spans of code, in which brackets are no links."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.sub(r"`[^`\n]*`(?!\])", "", text)


def anchors(page: Path) -> set[str]:
    """What headings of a page are linked by: small letters, spaces as hyphens, a number where one is there twice."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        found.add(name if not seen[name] else f"{name}-{seen[name]}")
        seen[name] += 1
    return found


def commands(page: Path) -> Iterator[str]:
    """The command lines of tdelta in a page's shell blocks, without what comments say of them."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            words = shlex.shlex(line, posix=True, punctuation_chars=";")
            words.whitespace_split = True
            for command in re.split(r" ; ", shlex.join(words).replace("';'", ";")):
                if command.startswith("tdelta "):
                    yield command


@pytest.mark.parametrize("page", [*PAGES, *BESIDE], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_of_ours_has_its_target(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_page_of_the_site_links_to_nothing_outside_of_it(page: Path) -> None:
    paths = [link.partition("#")[0] for link in _LINK.findall(prose(page)) if not re.match(r"[a-z]+:", link)]
    assert all((page.parent / path).resolve().is_relative_to(DOCS) for path in paths if path)


def test_every_page_is_in_the_navigation_once_and_no_other() -> None:
    listed = re.findall(r"^\s+- .*: (\S+\.md)$", SITE[SITE.index("\nnav:") :], re.MULTILINE)
    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in PAGES)


def test_the_site_is_built_strictly_and_fetches_no_fonts() -> None:
    assert "\nstrict: true\n" in SITE
    assert "\n  font: false" in SITE


def test_what_builds_the_site_is_pinned() -> None:
    pins = (ROOT / "site.lock").read_text(encoding="utf-8").splitlines()
    assert all(re.fullmatch(r"[\w.\-]+==[\w.]+", pin) for pin in pins)
    assert any(pin.startswith("mkdocs-material==") for pin in pins)


DOCUMENTED = [
    (page.name, command)
    for page in (ROOT / "README.md", DOCS / "tutorial.md", DOCS / "examples.md")
    for command in commands(page)
]


def test_the_pages_have_commands() -> None:
    counts = Counter(name for name, _ in DOCUMENTED)
    assert counts["README.md"] == 8
    assert counts["tutorial.md"] > 8
    assert counts["examples.md"] > 30


@pytest.mark.parametrize(("page", "command"), DOCUMENTED)
def test_every_command_of_the_first_pages_parses(page: str, command: str) -> None:
    _tdelta, name, *words = shlex.split(command)
    COMMANDS[name].load().make_context(name, words)
