"""``scripts/sbom``: the document that the wheel holds names every crate that is linked into its libraries."""

import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "sbom"


def test_the_document_in_the_tree_is_that_of_the_lock_file():
    checked = subprocess.run([SCRIPT, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_the_wheel_takes_the_document():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["sbom"]
    assert settings["include"] == ["crates/tdelta.cyclonedx.json"]
