"""Unit tests have a cache and data folder to themselves: what live tests beside them leave there is not theirs."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _folders_to_themselves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Every command removes what a killed run left there, and says so; a live test may just have killed one."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield
