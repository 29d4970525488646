import json

import pytest

import tdelta.engines.registry
import tdelta.session.studies
from tdelta.engines.profile import EngineInfo
from tdelta.report.listings import ENGINES_SCHEMA, STUDIES_SCHEMA
from tdelta.session.studies import Study

from .calling import call

ENGINE = EngineInfo(
    name="sqlite",
    available=True,
    version="3.51.0",
    ciphers=("none", "aes-256"),
    library="a",
    install="b",
    notes="",
    option="sqlite3mc",
    crypto="own",
)
STUDY = Study("order-entry", "users at a shop", "Oracle 12c", True)


@pytest.fixture(autouse=True)
def lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tdelta.engines.registry, "catalogue", lambda *_given: (ENGINE,), raising=False)
    monkeypatch.setattr(tdelta.session.studies, "studies", lambda: (STUDY,))


@pytest.mark.parametrize(
    ("command", "name", "schema"),
    [("engines", "sqlite", ENGINES_SCHEMA), ("studies", "order-entry", STUDIES_SCHEMA)],
)
def test_a_list_is_printed_for_people_and_for_programs(command: str, name: str, schema: str) -> None:
    assert call(command).out.startswith(name)
    values = json.loads(call(command, "--json").out)
    assert values["schema"] == schema
    assert [item["name"] for item in values[command]] == [name]
