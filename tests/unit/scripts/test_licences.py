"""``scripts/licences``: what is read as fitting, and that everything in the lock files does."""

import importlib.machinery
import importlib.util
import sys
from importlib.metadata import PackagePath
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "licences"


@pytest.fixture(scope="module")
def licences() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("licences", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("licences", loader))
    sys.modules["licences"] = module  # dataclasses look themselves up
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("expression", "does_fit"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR GPL-3.0-only) AND Apache-2.0", True),
        ("MIT OR GPL-3.0-only AND LGPL-2.1-only", True),
        ("Apache-2.0 WITH LLVM-exception", False),
    ],
)
def test_an_expression_fits_where_allowed_licences_alone_can_meet_it(licences, expression, does_fit):
    assert licences.fits(expression, frozenset({"MIT", "Apache-2.0"})) is does_fit


@pytest.mark.parametrize("said", [None, "", "MIT AND", "(MIT", "MIT)", "do what you like"])
def test_what_is_not_known_or_no_expression_is_a_fault(licences, said):
    assert licences.judged(said, frozenset({"MIT"}))


def test_a_crate_of_another_source_or_licence_is_a_fault(licences, monkeypatch):
    def package(name, licence, source):
        return {"id": name, "name": name, "version": "1", "license": licence, "source": source}

    registry = "registry+https://example.org/index"
    packages = [package("copyleft", "GPL-3.0-only", registry), package("fork", "MIT", "git+https://example.org/fork")]
    monkeypatch.setattr(
        licences.subprocess,
        "run",
        lambda *_, **__: SimpleNamespace(stdout=licences.json.dumps({"packages": packages, "workspace_members": []})),
    )
    assert [part.fault for part in licences.crates()] == [
        "licence not allowed: GPL-3.0-only",
        "source not allowed: git+https://example.org/fork",
    ]


class Installed:
    def __init__(self, folder, text):
        file = PackagePath("x-1.dist-info/licenses/LICENSE")
        file.dist = self
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
        self.files = [file]
        self.locate_file = folder.joinpath


MIT = "Permission is hereby granted,\n free of charge, to any person"
BSD = "Redistribution and use in source and binary forms ... to endorse or promote products"


@pytest.mark.parametrize(
    ("text", "licence", "fault"),
    [
        (MIT, "MIT", None),
        (MIT, "MIT OR Apache-2.0", None),
        (MIT, "MIT AND Apache-2.0", "MIT AND Apache-2.0 "),
        ("All rights reserved.", "MIT", "MIT "),
        (BSD, "BSD-3-Clause", None),
        (f"{BSD}\nLicense: GPL-3.0-or-later WITH GCC-exception-3.1", "BSD-3-Clause", None),
        (f"{BSD}\nLicense: GPL-3.0-only", "BSD-3-Clause", "GPL-3.0-only"),
    ],
)
def test_the_licence_files_of_a_distribution_have_to_bear_out_its_metadata(licences, tmp_path, text, licence, fault):
    found = licences.unlike_files(Installed(tmp_path, text), "x", licence)
    assert found is None if fault is None else fault in found


def test_a_text_that_a_distribution_owes_was_read_elsewhere(licences, tmp_path):
    zlib = "This software is provided 'as-is'"
    for name in ("apsw_sqlite3mc", "sqlcipher3"):
        licence = licences.READ_BY_A_PERSON[name]
        assert licences.unlike_files(Installed(tmp_path, zlib), name, licence) is None
        assert "not what its licence files say" in licences.unlike_files(Installed(tmp_path, MIT), name, licence)
