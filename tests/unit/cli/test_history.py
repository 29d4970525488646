import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from support import samples as s
from tdelta.records import CheckState, Decision, RunResult, Validity
from tdelta.records.kept import RunKind
from tdelta.session.history import experiment_of
from tdelta.store import Store
from tdelta.store.summaries import KIND, LABELS

from .calling import Called, call

LIBRARY = "library under test"


def run(run_id: str, overhead: float, version: str = "SQLite 3.50.0", half: float = 0.01, **options: Any) -> RunResult:
    base = s.slower()
    ratio = s.estimate(1 + overhead, half)
    head = replace(base.verdicts[0], ratio=ratio, typical=ratio)
    given = replace(base.settings, run_id=run_id, options={**base.settings.options, **options})
    return replace(
        base, settings=given, verdicts=(head, *base.verdicts[1:]), versions={**base.versions, LIBRARY: version}
    )


def stored(path: Path, runs: Sequence[RunResult], labels: dict[str, list[str]] | None = None) -> Path:
    with Store.open(path) as opened:
        for one in runs:
            run_id = one.settings.run_id
            opened.create_run(one.settings, one.machine, one.versions)
            if labels and run_id in labels:
                opened.put_fact(run_id, LABELS, labels[run_id])
            opened.finish(run_id, one)
    return path


THREE = (run("20261101-aaaa", 0.10), run("20261108-bbbb", 0.105), run("20261115-cccc", 0.20, "SQLite 3.51.2"))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    labels = {"20261101-aaaa": ["nightly", "v10"], "20261108-bbbb": ["nightly", "v9"]}
    return stored(tmp_path / "runs.sqlite", THREE, labels)


def history(store: Path, *arguments: str) -> Called:
    return call("history", *arguments, "--store", str(store))


def document(store: Path, *arguments: str) -> Any:
    done = history(store, *arguments, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def ids(found: Any) -> list[str]:
    return [point["run_id"][-4:] for series in found["series"] for point in series["points"]]


def test_three_stored_runs_show_a_change_of_ten_points(store: Path) -> None:
    found = document(store)
    (series,) = found["series"]
    (change,) = series["changes"]
    assert (ids(found), change["run_id"], change["at"]) == (["aaaa", "bbbb", "cccc"], "20261115-cccc", 2)
    assert change["difference"]["change"] == "larger"
    assert change["difference"]["median"] == pytest.approx(0.0975, abs=0.003)
    assert [point["version"] for point in series["points"]] == ["SQLite 3.50.0"] * 2 + ["SQLite 3.51.2"]


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_the_terminal_shows_it_in_its_width(store: Path, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = history(store).out.splitlines()
    assert len({found[0] for line in lines if (found := re.match(r"\d{8}-\w+", line))}) == 3
    assert any("points" in line for line in lines)
    assert all(len(line) <= columns for line in lines)


def test_the_page_has_a_figure_with_the_change_and_asks_nothing_of_a_network(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "history.html"
    assert history(store, "--output", str(page)).code == 0
    text = page.read_text(encoding="utf-8")
    assert text.count('class="limit"') == 1
    assert text.count('class="dot"') == 3
    assert "+9.7" in text
    assert "src=" not in text.replace("xmlns", "")
    assert history(store, "--output", str(page)).code == 0
    page.write_text("mine", encoding="utf-8")
    assert history(store, "--output", str(page)).code == 2
    assert history(store, "--output", str(page), "--force").code == 0


def test_runs_are_ordered_by_version_and_label_as_people_count(store: Path) -> None:
    assert ids(document(store, "--by", "version")) == ["aaaa", "bbbb", "cccc"]
    found = document(store, "--by", "label", "--label", "nightly")
    assert ids(found) == ["bbbb", "aaaa"]  # v9 before v10


def test_runs_without_a_label_are_left_out_of_an_order_by_label(store: Path) -> None:
    found = document(store, "--by", "label")
    assert found["left_out"] == [{"run_id": "20261115-cccc", "why": "unlabelled"}]
    assert "20261115-cccc" in history(store, "--by", "label").out


def test_filters_pick_runs(store: Path) -> None:
    assert ids(document(store, "--most", "2")) == ["bbbb", "cccc"]
    assert ids(document(store, "--label", "nightly")) == ["aaaa", "bbbb"]
    assert ids(document(store, "--since", "1h")) == ["aaaa", "bbbb", "cccc"]
    done = history(store, "--label", "none-has-it", "--json")
    assert (done.code, json.loads(done.out)["refusals"][0]["code"]) == (2, "no-history")


def test_other_experiments_calibrations_and_invalid_runs_are_not_in_it(tmp_path: Path) -> None:
    invalid = replace(
        run("20261103-dddd", 0.4),
        decision=Decision.INVALID,
        validity=(Validity("rows-before", CheckState.FAILED),),
    )
    others = (invalid, run("20261104-ffff", 0.4, threads=8), run("20261105-gggg", 0.4, size_bytes=10**9))
    path = stored(tmp_path / "runs.sqlite", (*THREE, *others, run("20261106-hhhh", 0.4)))
    with Store.open(path) as opened:
        opened.put_fact("20261106-hhhh", KIND, RunKind.CALIBRATION)
    found = document(path, "20261115")
    assert ids(found) == ["aaaa", "bbbb", "cccc"]
    assert [(one["run_id"][-4:], one["why"]) for one in found["left_out"]] == [("dddd", "invalid")]


def test_another_library_is_of_the_same_experiment_and_other_threads_are_not() -> None:
    one = THREE[0].settings
    assert experiment_of(one) == experiment_of(THREE[2].settings)
    assert experiment_of(one) == experiment_of(replace(one, options={**one.options, "library": "./libsqlite.so"}))
    assert experiment_of(one) != experiment_of(replace(one, options={**one.options, "threads": 2}))


def test_force_without_a_page_is_refused(store: Path) -> None:
    assert history(store, "--force").code == 2


def show(store: Path, *arguments: str) -> Called:
    return call("show", *arguments, "--store", str(store))


def test_a_run_is_shown_against_an_earlier_one_by_id_and_label(store: Path) -> None:
    for earlier in ("bbbb", "v9"):
        done = show(store, "last", "--against", earlier, "--json")
        against = json.loads(done.out)["against"]
        (one,) = against["conditions"]
        assert (done.code, against["earlier_id"][-4:], one["difference"]["change"]) == (0, "bbbb", "larger")
        assert one["difference"]["median"] == pytest.approx(0.095, abs=1e-3)
        assert {"name": LIBRARY, "earlier": "SQLite 3.50.0", "later": "SQLite 3.51.2"} in against["differing"]


def test_the_terminal_and_markdown_say_what_differs(store: Path) -> None:
    text = " ".join(show(store, "last", "--against", "bbbb").out.split())
    assert "20261108-bbbb, AES-256: " in text
    assert "SQLite 3.50.0 → SQLite 3.51.2" in text
    html = MarkdownIt().render(show(store, "last", "--against", "bbbb", "--format", "markdown").out)
    assert "20261108-bbbb, AES-256: " in html


def test_the_page_of_a_run_has_a_section_against_the_earlier_one(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    assert call("report", "last", "--against", "v9", "--output", str(page), "--store", str(store)).code == 0
    assert 'id="against"' in page.read_text(encoding="utf-8")


def test_alike_runs_are_unchanged_and_wide_ones_undecided(tmp_path: Path) -> None:
    alike = (run("20261101-aaaa", 0.100, half=0.005), run("20261102-bbbb", 0.102, half=0.005))
    wide = (run("20261103-cccc", 0.1, half=0.05),)
    path = stored(tmp_path / "runs.sqlite", (*alike, *wide))
    found = [
        json.loads(show(path, later, "--against", "aaaa", "--json").out)["against"]["conditions"][0]["difference"]
        for later in ("bbbb", "cccc")
    ]
    assert [one["change"] for one in found] == ["unchanged", "undecided"]


def test_runs_with_nothing_in_common_and_the_same_run_are_refused(tmp_path: Path) -> None:
    other = run("20261102-bbbb", 0.1)
    head = replace(other.verdicts[0], condition=s.condition("aes-128"))
    path = stored(tmp_path / "runs.sqlite", (run("20261101-aaaa", 0.1), replace(other, verdicts=(head,))))
    for earlier, code in (("aaaa", "nothing-in-common"), ("bbbb", "run-against-itself")):
        done = show(path, "last", "--against", earlier, "--json")
        assert (done.code, json.loads(done.out)["refusals"][0]["code"]) == (2, code)


def test_a_history_is_of_no_file(tmp_path: Path) -> None:
    (tmp_path / "nile.csv").write_text("1\n2\n")
    done = call("history", str(tmp_path / "nile.csv"))
    assert (done.code, [refusal.code for refusal in done.refusals]) == (2, ["conflict"])
