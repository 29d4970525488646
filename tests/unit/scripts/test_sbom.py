"""``scripts/sbom``: the document that the wheel holds names every crate that is linked into its libraries."""

from __future__ import annotations

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


TREE = """
0no-aes v0.1.0 (/somebody/crates/no-aes)|Apache-2.0
1decoder v2.0.0|0BSD
2numbers v0.2.0|MIT/Apache-2.0

0tdelta-python v0.1.0 (/somebody/crates/tdelta-python)|Apache-2.0
1macros v1.0.0 (proc-macro)|MIT OR Apache-2.0
1numbers v0.2.0|MIT/Apache-2.0
"""


def test_a_tree_is_components_and_what_each_depends_on(sbom):
    document = sbom.document(sbom.linked(TREE))
    assert [(part["purl"], part["licenses"][0]["expression"]) for part in document["components"]] == [
        ("pkg:cargo/decoder@2.0.0", "0BSD"),
        ("pkg:cargo/macros@1.0.0", "MIT OR Apache-2.0"),
        ("pkg:cargo/no-aes@0.1.0", "Apache-2.0"),
        ("pkg:cargo/numbers@0.2.0", "MIT OR Apache-2.0"),
        ("pkg:cargo/tdelta-python@0.1.0", "Apache-2.0"),
    ]
    assert {part["ref"]: part["dependsOn"] for part in document["dependencies"]} == {
        "pkg:pypi/tdelta@0.1.0": ["pkg:cargo/no-aes@0.1.0", "pkg:cargo/tdelta-python@0.1.0"],
        "pkg:cargo/decoder@2.0.0": ["pkg:cargo/numbers@0.2.0"],
        "pkg:cargo/macros@1.0.0": [],
        "pkg:cargo/no-aes@0.1.0": ["pkg:cargo/decoder@2.0.0"],
        "pkg:cargo/numbers@0.2.0": [],
        "pkg:cargo/tdelta-python@0.1.0": ["pkg:cargo/macros@1.0.0", "pkg:cargo/numbers@0.2.0"],
    }
    assert json.loads(sbom.text(document)) == document
    assert "somebody" not in sbom.text(document)


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
