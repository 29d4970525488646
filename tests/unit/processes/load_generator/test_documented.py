"""``docs/workloads.md`` names every placeholder of load generators, and no others; its examples are commands."""

import re
from pathlib import Path

import pytest

from tdelta.processes.load_generator.command import PLACEHOLDERS, parse_load

PAGE = (Path(__file__).parents[4] / "docs/workloads.md").read_text(encoding="utf-8").split("## Load generators")[1]
EXAMPLES = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()


def test_the_table_of_placeholders_has_each_of_them_and_no_others() -> None:
    rows = re.findall(r"^\| (`\{.*?) \|", PAGE, re.MULTILINE)
    assert sorted(re.findall(r"\{([a-z_]+)\}", " ".join(rows))) == sorted(PLACEHOLDERS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_each_example_is_a_command_without_faults(
    example: str, installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (installed / "replay.sh").symlink_to(installed / "mytool")
    monkeypatch.chdir(installed)
    protocol = "postgres" if example.startswith("pgbench") else "mysql"
    assert parse_load(example, protocol).calibrates
