import io
import json
import re
from pathlib import Path

import pytest

from support.examples import MACHINE, VERSIONS, settings_of, trial_of
from tdelta.store import RunStatus, Store, export
from tdelta.store.store import APPLICATION_ID, SCHEMA_VERSION

DOCUMENT = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
RUN = settings_of().run_id


def section(heading):
    """The text below a heading, up to the next one of any level."""
    _, _, rest = DOCUMENT.partition(f"\n{heading}")
    return re.split(r"\n#+ ", rest)[0]


def documented(heading):
    rows = [line.split("|")[1] for line in section(heading).splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "runs.sqlite") as opened:
        opened.create_run(settings_of(), MACHINE, VERSIONS)
        for position in (0, 2):
            opened.add_trial(RUN, trial_of(position=position))
        yield opened


@pytest.mark.parametrize("table", ["runs", "run_facts", "trials", "histograms", "calibrations"])
def test_every_column_of_a_table_is_documented_in_order_and_no_other(store, table):
    rows = store._db.execute(f"PRAGMA table_info({table})").fetchall()
    assert documented(f"### `{table}`") == [row[1] for row in rows]


def test_there_is_no_table_that_is_not_documented(store):
    tables = store._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert {name for (name,) in tables} == set(re.findall(r"\n### `(\w+)`", DOCUMENT))


def test_every_csv_column_is_documented(store):
    out = io.StringIO()
    export.write_csv(store, RUN, out)
    named = documented("### CSV of trials")
    scalars = documented("### `trials`")
    patterns = [re.sub(r"NAME|KIND", r"\\w+", name) for name in (*named, *scalars)]
    for column in out.getvalue().partition("\n")[0].split(","):
        assert any(re.fullmatch(pattern, column) for pattern in patterns), column


def test_every_field_of_the_json_export_is_documented(store):
    out = io.StringIO()
    export.write_json(store, RUN, out)
    document = json.loads(out.getvalue())
    assert set(document) == set(documented("### JSON of a run"))
    assert all(f"`{name}`" in section("### JSON of a run") for name in document["trials"][0])
    assert f"`{document['schema']}`" in DOCUMENT


def test_the_marks_of_the_file_are_the_documented_ones():
    assert f"`{APPLICATION_ID:#x}`" in DOCUMENT
    assert f"`PRAGMA user_version`, now {SCHEMA_VERSION}" in DOCUMENT.replace("\n", " ")


def test_every_status_is_documented():
    assert all(f"`{status}`" in section("### `runs`") for status in RunStatus)
