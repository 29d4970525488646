"""The reference pages are those that scripts/reference writes, and the examples in them are commands."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from support.reference import SCRIPT
from tdelta.cli.commands import entries

CLI = Path(__file__).parents[3] / "docs" / "cli.md"


def test_the_reference_pages_are_up_to_date() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_example_of_a_command_parses() -> None:
    commands = {entry.name: entry for entry in entries()}
    lines = re.findall(r"^    tdelta (.+)$", CLI.read_text(encoding="utf-8"), re.MULTILINE)
    examples = [line for line in lines if "[OPTIONS]" not in line]
    assert len(examples) > len(commands)
    for line in examples:
        name, *words = shlex.split(re.split(r" [|>]", line)[0], comments=True)
        commands[name].load().make_context(name, words)
