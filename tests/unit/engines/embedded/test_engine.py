from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, cast

import pytest

from support.refused import refused
from tdelta.engines.embedded.engine import Embedded, EmbeddedSettings
from tdelta.engines.embedded.twins import EmbeddedTwin, EmbeddedTwins
from tdelta.engines.layout import RunLayout
from tdelta.engines.profile import Setting
from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.engines.sqlite.profile import PROFILE as OF_SQLITE
from tdelta.errors import Defect, InvalidTwins, UnknownName
from tdelta.processes.workers import Worker
from tdelta.records import Condition, Level, Role

SYNC, OWN = "sync_mode", "threads"
PROFILE = replace(
    OF_SQLITE,
    settings={
        SYNC: Setting("SET sync {value}", "SHOW sync", {"off": "0", "full": "2"}),
        OWN: Setting("SET threads {value}", "SHOW threads", is_own=True),
    },
)


class Toy(SqliteEngine):
    """An engine with only these two settings."""

    profile = PROFILE
    settings_type = EmbeddedSettings
    facts = MappingProxyType({})

    def own_values(self, _settings: Any) -> Mapping[str, Any]:
        return {OWN: 8}

    def own_settings(self, _layout: RunLayout, _condition: Condition) -> dict[str, Any]:
        return {}

    def of(self, _settings: Any) -> "Toy":
        return self


def checked(options: Mapping[str, Any], levels: Mapping[str, Sequence[Level]]) -> None:
    for check in Embedded.option_checks(Toy(), options, levels):
        check()


def test_an_option_without_a_value_is_not_checked_and_one_that_is_given_is() -> None:
    checked({}, {})
    checked({SYNC: None}, {})
    checked({SYNC: "full"}, {})
    with refused(UnknownName, "unknown", kind="level of --sync-mode", found="ful"):
        checked({SYNC: "ful"}, {})


def test_levels_that_vary_are_checked() -> None:
    checked({SYNC: None}, {SYNC: ("off", "full")})
    with refused(UnknownName, "unknown", kind="level of --sync-mode", found="ful"):
        checked({SYNC: "full"}, {SYNC: ("off", "ful")})


def test_options_give_the_values_of_settings_that_are_not_the_engines_own() -> None:
    condition = Condition((("cipher", "none"), ("threads", 2), (SYNC, "full")), Role.BASELINE)
    layout = SimpleNamespace(
        level=lambda of, name: of.get(name), cache_bytes=lambda *_: 0, is_cold=lambda _: False, options={}
    )
    settings = Toy().settings(cast(RunLayout, layout), condition, 0)
    assert settings.given == ((SYNC, "full"),)
    assert Toy().statements(settings) == ["SET sync full", "SET threads 8"]


def test_a_value_of_an_option_is_not_lost_to_the_engines_own() -> None:
    with pytest.raises(Defect, match=OWN):
        Toy().values(EmbeddedSettings("none", given=((OWN, 2),)))


@pytest.mark.parametrize(("sync", "is_in_force"), [("2", True), ("1", False)])
def test_a_twin_whose_setting_is_not_in_force_is_refused(sync: str, is_in_force: bool) -> None:
    worker = SimpleNamespace(ask=lambda _do, queries: {SYNC: sync, OWN: "8"})
    twins = SimpleNamespace(engine=Toy(), key=lambda _cipher: None, folder=None)
    settings = EmbeddedSettings("none", given=((SYNC, "full"),))
    twin = EmbeddedTwin(cast(EmbeddedTwins, twins), settings, Path("t.db"), cast(Worker, worker), {})
    if is_in_force:
        assert twin.facts() == {SYNC: "2", OWN: "8"}
        return
    with refused(InvalidTwins, "settings-not-applied", fault_code="settings-not-in-force"):
        twin.facts()
