"""``scripts/sbom``: the document that the wheel holds names every crate that is linked into its libraries."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "sbom"


def test_the_document_in_the_tree_is_that_of_the_lock_file():
    checked = subprocess.run([SCRIPT, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
