from pathlib import Path

import pytest

from support import stored as t
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render
from tdelta.report.page.gather import RunData, gather
from tdelta.store import Store


def data_of(path: Path) -> RunData:
    with Store.open(path, must_exist=True) as store:
        return gather(store, store.resolve("last"))


@pytest.fixture(scope="session")
def valid(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return data_of(t.store_factorial(tmp_path_factory.mktemp("valid") / "runs.sqlite", has_leak=False))


@pytest.fixture(scope="session")
def leaking(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return data_of(t.store_factorial(tmp_path_factory.mktemp("leaking") / "runs.sqlite"))


@pytest.fixture(scope="session")
def valid_page(valid: RunData) -> str:
    return render(compose(valid))


@pytest.fixture(scope="session")
def leaking_page(leaking: RunData) -> str:
    return render(compose(leaking))
