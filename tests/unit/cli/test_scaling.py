"""``tdelta scaling`` over threads: a small sweep of another tool, a published table, and a stored run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tdelta_samples as s

from tdelta.records import Condition, Role, SpanTotals, Trial
from tdelta.records.scaling import Axis, ScalingCurve
from tdelta.report.labels import level_text
from tdelta.report.scaling import curve_name
from tdelta.store import Store
from tdelta_flat import measurement_of

from .calling import call

THREADS = (1, 2, 4, 8, 16)
RUN = "20261126-aaaa"


def rate(threads: int, factor: float) -> float:
    """Operations per second of a system that is full at four threads."""
    return threads / (1e-3 * factor * (1.0 + (threads / 4) ** 2) ** 0.5)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sweep") / "sweep.csv"
    rows = [f"{name},{n},{rate(n, f):.1f}" for name, f in (("plain", 1.0), ("aes", 1.2)) for n in THREADS]
    path.write_text("\n".join(["condition,threads,tps", *rows, ""]))
    return path


def curve(*arguments: str) -> dict[str, Any]:
    found = call("scaling", *arguments, "--json")
    assert found.code == 0, found.err
    document = json.loads(found.out)
    assert document["schema"] == "tdelta.scaling/1"
    (only,) = document["curves"]
    return dict(only)


def kinds(of: dict[str, Any]) -> dict[int, str]:
    assert of["over"] == "threads"
    return {point["threads"]: point["kind"] for point in of["points"]}


def test_what_is_beyond_the_sweep_is_marked_as_a_prediction(sweep: Path) -> None:
    found = curve(str(sweep))
    assert (found["baseline"], found["condition"]) == ("plain", "aes")
    assert kinds(found) == dict.fromkeys(THREADS, "measured") | {32: "prediction", 64: "prediction"}
    for point in found["points"]:
        if point["kind"] == "measured":
            assert point["ratio"] == pytest.approx(1.2, abs=0.01)
        else:
            low, high = point["prediction"]["band95"]
            assert low < 1.2 < high
    (line,) = (line for line in call("scaling", str(sweep)).out.splitlines() if line.strip().startswith("32 "))
    assert line.split()[-1] == "prediction"


def test_what_was_measured_beyond_the_fit_is_held_out(sweep: Path) -> None:
    found = curve(str(sweep), "--fit-to", "8", "--threads", "32")
    assert kinds(found) == dict.fromkeys(THREADS[:4], "measured") | {16: "held-out", 32: "prediction"}


def test_the_published_sweep_has_a_curve_for_each_buffer_pool_and_holds_what_was_seen() -> None:
    found = call("scaling", "published:read-only-sweep", "--fit-to", "256", "--json")
    curves = json.loads(found.out)["curves"]
    assert [of["levels"] for of in curves] == [{"buffer_pool": "5 GB"}, {"buffer_pool": "60 GB"}]
    held_out = [point for of in curves for point in of["points"] if point["kind"] == "held-out"]
    assert len(held_out) == 4
    for point in held_out:
        assert point["prediction"]["band95"][0] <= point["ratio"] <= point["prediction"]["band95"][1]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--fit-to", "4"), "no-sweep"),
        (("--threads", "65"), "scaling-too-far"),
        (("--cores", "4"), "no-sweep-of-cores"),
        (("--threads", "32", "--cores", "32"), "threads-and-cores"),
    ],
)
def test_too_few_numbers_of_threads_and_far_ones_are_refused(sweep: Path, options: tuple[str, ...], code: str) -> None:
    refused = call("scaling", str(sweep), *options)
    assert (refused.code, [one.code for one in refused.refusals]) == (2, [code])


def stored(path: Path, *numbers: int, over: str = "threads", **options: object) -> Path:
    """A run of two rounds of two blocks, at these numbers of threads, or of cores with 64 threads."""
    base, ciphers = s.costly(), {"none": (1.0, Role.BASELINE), "aes-256": (1.2, Role.TREATMENT)}
    conditions = {
        (cipher, n): Condition(tuple({"cipher": cipher, "threads": 64, over: n}.items()), ciphers[cipher][1], stratum)
        for stratum, n in enumerate(numbers)
        for cipher in ciphers
    }
    given = {**base.settings.options, **options}
    settings = replace(base.settings, run_id=RUN, conditions=tuple(conditions.values()), options=given)
    with Store.open(path) as opened:
        opened.create_run(settings, base.machine, base.versions)
        for block in range(4):
            for at, ((cipher, n), condition) in enumerate(conditions.items()):
                elapsed_ns = round(1e12 / rate(n, ciphers[cipher][0]))
                spans = {"all": SpanTotals(1000, elapsed_ns * condition.level("threads"))}
                measured = measurement_of(operations=1000, elapsed_ns=elapsed_ns, transactions=spans, statements={})
                opened.add_trial(RUN, Trial(block // 2, block, at, condition, "", 0.0, measured))
    return path


def test_a_stored_run_that_varied_threads_is_a_sweep(tmp_path: Path) -> None:
    found = curve("last", "--store", str(stored(tmp_path / "runs.sqlite", 1, 2, 4, 8)), "--threads", "32")
    assert (found["baseline"], found["condition"], found["levels"]) == ("plain", "aes-256", {})
    assert kinds(found) == dict.fromkeys(THREADS[:4], "measured") | {32: "prediction"}
    assert found["points"][3]["plain"] == pytest.approx(rate(8, 1.0), rel=1e-6)
    assert found["points"][3]["ratio"] == pytest.approx(1.2, rel=1e-6)


@pytest.mark.parametrize(
    ("threads", "options", "code"),
    [((4,), {}, "no-sweep"), ((1, 2, 4, 8), {"rate": 100.0}, "scaling-of-open-loop")],
)
def test_a_run_without_a_sweep_is_refused(
    tmp_path: Path, threads: tuple[int, ...], options: dict[str, object], code: str
) -> None:
    refused = call("scaling", RUN, "--store", str(stored(tmp_path / "runs.sqlite", *threads, **options)))
    assert (refused.code, [one.code for one in refused.refusals]) == (2, [code])


def test_a_stored_run_that_varied_cores_is_a_sweep_over_them(tmp_path: Path) -> None:
    found = call("scaling", "last", "--store", str(stored(tmp_path / "r.sqlite", 1, 2, 4, 8, over="cores")), "--json")
    document = json.loads(found.out)
    (curve,) = document["curves"]
    assert (document["over"], [one["code"] for one in document["cautions"]]) == ("cores", ["cores-of-one-machine"])
    assert [point["cores"] for point in curve["points"]] == [1, 2, 4, 8, 16, 32]
    assert {point["threads"] for point in curve["points"]} == {64}


def test_cores_of_a_run_that_did_not_vary_them_are_refused(tmp_path: Path) -> None:
    store = stored(tmp_path / "runs.sqlite", 1, 2, 4, 8)
    refused = call("scaling", RUN, "--store", str(store), "--cores", "16")
    assert (refused.code, [one.code for one in refused.refusals]) == (2, ["no-sweep-of-cores"])


def test_a_file_and_a_run_at_once_are_refused(sweep: Path) -> None:
    refused = call("scaling", str(sweep), "last")
    assert (refused.code, [one.code for one in refused.refusals]) == (2, ["scaling-sources"])


def test_what_is_neither_a_run_nor_a_file_and_looks_like_a_file_cannot_be_read(sweep: Path, tmp_path: Path) -> None:
    missing, store = str(tmp_path / "missing.csv"), str(stored(tmp_path / "runs.sqlite", 1, 2, 4, 8))
    codes = {
        tuple(one.code for one in call("scaling", *sources, "--store", kept).refusals)
        for kept in (store, str(tmp_path / "none.sqlite"))
        for sources in ((missing,), (missing, str(sweep)))
    }
    known = tuple(one.code for one in call("analyze", missing).refusals)
    assert codes == {known}


def test_numbers_that_one_condition_has_alone_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "apart.csv"
    rows = [f"plain,{n},1000\naes,{n + n // 4},900" for n in THREADS]
    path.write_text("\n".join(["condition,threads,tps", *rows, ""]))
    refused = call("scaling", str(path))
    (refusal,) = refused.refusals
    assert (refused.code, refusal.code, refusal.parameters["found"]) == (2, "no-sweep", "2 (1, 2)")


def test_the_page_draws_what_was_measured_and_marks_predictions_beyond_it(sweep: Path, tmp_path: Path) -> None:
    page = tmp_path / "scaling.html"
    assert call("scaling", str(sweep), "--output", str(page)).code == 0
    text = page.read_text(encoding="utf-8")
    (drawn,) = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert (drawn.count('class="dot"'), drawn.count('class="plain-dot"')) == (len(THREADS), 2)
    assert drawn.count('class="limit"') == 1
    assert "prediction" in text


def test_a_page_without_predictions_beyond_the_sweep_has_no_dashed_line(sweep: Path, tmp_path: Path) -> None:
    page = tmp_path / "scaling.html"
    assert call("scaling", str(sweep), "--threads", "6", "--output", str(page)).code == 0
    assert 'class="limit"' not in page.read_text(encoding="utf-8")


def test_force_without_a_page_is_refused(sweep: Path) -> None:
    refused = call("scaling", str(sweep), "--force")
    assert (refused.code, [one.code for one in refused.refusals]) == (2, ["force-without-output"])


def test_a_level_is_called_by_its_label() -> None:
    curve = ScalingCurve((("cache", 0.1),), "plain", "aes-256", Axis.THREADS, ())
    assert level_text("cache", 0.1) in curve_name(curve)
