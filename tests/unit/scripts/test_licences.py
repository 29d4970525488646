"""``scripts/licences``: what is read as fitting, and that everything in the lock files does."""

import importlib.machinery
import importlib.util
import sys
from importlib.metadata import distributions
from pathlib import Path
from types import ModuleType

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


def test_every_crate_fits(licences):
    found = list(licences.crates())
    assert len(found) > 100
    assert not [part for part in found if part.fault]


def test_every_distribution_of_the_lock_files_that_is_installed_fits(licences):
    found = list(licences.distributions())
    assert {part.name for part in found} >= {"numpy", "click", "pytest"}
    installed = {distribution.name.lower().replace("_", "-") for distribution in distributions()}
    assert not [part for part in found if part.fault and part.name.lower().replace("_", "-") in installed]


def test_the_notices_are_those_of_the_lock_file(licences):
    assert licences.NOTICE.read_text() == licences.notice(), "scripts/licences --notice"
