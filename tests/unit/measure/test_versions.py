import platform
import re
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from tdelta import __version__
from tdelta.measure.machine import DISTRIBUTIONS, NOT_INSTALLED, library_versions

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


def test_every_dependency_of_the_project_is_among_the_versions():
    listed = tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"]
    assert sorted(re.match(r"[\w.-]+", line)[0] for line in listed) == sorted(DISTRIBUTIONS)


def test_versions_are_those_of_this_python_and_tdelta():
    versions = library_versions()
    assert versions["python"] == platform.python_version()
    assert versions["tdelta"] == __version__
    assert set(DISTRIBUTIONS) <= versions.keys()
    assert re.match(r"\d+\.\d+", versions["numpy"])


def test_a_library_that_is_missing_is_told_as_missing(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert {library_versions()[name] for name in DISTRIBUTIONS} == {NOT_INSTALLED}
