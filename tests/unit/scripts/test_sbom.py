"""``scripts/sbom``: the document that the wheel holds names every crate that is linked into its libraries."""

import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "scripts" / "sbom"


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("sbom", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", loader))
    sys.modules["sbom"] = module  # dataclasses look themselves up
    loader.exec_module(module)
    return module


def test_the_document_in_the_tree_is_that_of_the_lock_file():
    checked = subprocess.run([SCRIPT, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_the_document_names_locked_crates_only_and_all_libraries(sbom):
    locked = {
        f"pkg:cargo/{package['name']}@{package['version']}"
        for package in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    }
    named = {part["purl"] for part in json.loads(sbom.DOCUMENT.read_text())["components"]}
    assert named <= locked
    assert {part.partition("@")[0] for part in named} >= {f"pkg:cargo/{name}" for name in (*sbom.LIBRARIES, "rusqlite")}


def test_the_wheel_takes_the_document(sbom):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["sbom"]
    assert [ROOT / path for path in settings["include"]] == [sbom.DOCUMENT]
