"""The fakes are like the real ones, and do as they are told."""

import inspect

import pytest

from support.fake_twins import FakeTwin, FakeTwins
from tdelta.driver import Twin, Twins
from tdelta.engines.embedded.twins import EmbeddedTwin, EmbeddedTwins


def methods(kind: type) -> dict[str, list[str]]:
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name: list(inspect.signature(f).parameters) for name, f in found if not name.startswith("_")}


@pytest.mark.parametrize(
    ("protocol", "kind"), [(Twin, EmbeddedTwin), (Twin, FakeTwin), (Twins, EmbeddedTwins), (Twins, FakeTwins)]
)
def test_real_and_fake_have_every_method_of_the_protocol(protocol: type, kind: type) -> None:
    has = {name: [p.lstrip("_") for p in parameters] for name, parameters in methods(kind).items()}
    for name, parameters in methods(protocol).items():
        assert has[name][: len(parameters)] == parameters, name
    assert len(methods(protocol)) >= 5
