"""Stores that earlier versions wrote, each from a small run of its code: whatever reads a run reads all of it.

``version-6`` has no bytes of checkpoints, ``version-7`` the earlier names of columns, ``version-8-first`` agents in
a column at the end, ``version-8-later`` no memory of clients. Their trials are sealed as they were then; facts, and the
seals of what names a machine, were taken out.
"""

import gzip
import hashlib
import sqlite3
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest

from tdelta.errors import StoreError
from tdelta.report.document import document, to_json
from tdelta.report.page.compose import compose
from tdelta.report.page.gather import gather
from tdelta.report.page.render import render as render_page
from tdelta.report.terminal import render
from tdelta.store import Store
from tdelta.store.export import write_csv, write_json
from tdelta.store.pack import unpacked, write_pack
from tdelta.store.rows import MEASURED_COLUMNS
from tdelta.store.store import SCHEMA_VERSION
from tdelta_refused import refused

STORES = Path(__file__).parents[2] / "data" / "stores"
NAMES = [path.name.removesuffix(".db.gz") for path in sorted(STORES.iterdir())]

COLUMNS_OF = {10: "1e71b652a68c17ea"}
"""A digest of the columns of trials, by the version of the store that has them."""


@pytest.fixture(params=NAMES)
def path(request, tmp_path):
    made = tmp_path / "runs.sqlite"
    made.write_bytes(gzip.decompress((STORES / f"{request.param}.db.gz").read_bytes()))
    return made


def test_all_of_a_run_of_an_earlier_version_is_read_whatever_reads_it(path, tmp_path):
    with Store.open(path) as store:
        run_id = store.resolve("last")
        trials, result = store.trials(run_id), store.result(run_id)
        assert len(trials) == store.summary(run_id).trials > 0
        to_json(document(result, 0))
        render(result, details=True)
        assert run_id in render_page(compose(gather(store, run_id)))
        for write in (write_csv, write_json):
            write(store, run_id, StringIO())
        write_pack(store, run_id, tmp_path / "run.tdelta")
    with unpacked(tmp_path / "run.tdelta") as (again, _):
        assert (again.trials(run_id), again.result(run_id)) == (trials, result)


@pytest.mark.parametrize("change", ["operations = operations + 1", "client_agents = '[]'", "client_peak_rss_bytes = 1"])
def test_what_changes_in_a_trial_of_an_earlier_version_is_noticed(path, change):
    with Store.open(path) as store:
        run_id = store.resolve("last")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"UPDATE trials SET {change} WHERE block = 1")
    with Store.open(path) as store, refused(StoreError, "store-changed", path=path):
        store.trials(run_id)


def test_another_column_is_another_version_so_that_an_older_tdelta_says_that_it_is_older():
    digest = hashlib.sha256(repr(sorted(MEASURED_COLUMNS.items())).encode()).hexdigest()[:16]
    assert COLUMNS_OF.get(SCHEMA_VERSION) == digest
