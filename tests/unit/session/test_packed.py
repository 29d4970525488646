"""A pack among the files of ``tdelta analyze``: instances are runs, and figures that no run has are refused."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import tdelta_samples as s

from tdelta._native import histogram_of
from tdelta.design import lay_out
from tdelta.errors import ImportFault
from tdelta.importers.protocol import Naming
from tdelta.importers.reading import FileSource
from tdelta.importers.recognizing import IMPORTERS
from tdelta.records import Condition, Decision, Figure, Level, Samples, SpanTotals, Trial
from tdelta.session.analyzing import AnalysisRequest, analyze_files
from tdelta.session.packed import PACKS, PackImporter
from tdelta.store import Store
from tdelta.store.pack import write_pack
from tdelta_flat import measurement_of


def times_of(mean_us: int, seed: int) -> list[int]:
    """Two hundred times around a mean, ns, each a little different."""
    return [round(mean_us * 1000 * (0.6 + 0.8 * ((37 * n + seed) % 200) / 199)) for n in range(200)]


def trial(condition: Condition, round_: int, block: int, mean_us: int, position: int = 0) -> Trial:
    kinds = {"browse": times_of(mean_us, block), "order": times_of(2 * mean_us, block)}
    measured = measurement_of(
        operations=400,
        elapsed_ns=sum(map(sum, kinds.values())),
        transactions={name: SpanTotals(len(times), sum(times)) for name, times in kinds.items()},
        statements={},
        histograms={f"tx:{name}": histogram_of(times, [1] * len(times)) for name, times in kinds.items()},
        cpu_user_seconds=400 * mean_us / 2e6,
    )
    return Trial(round_, block, position, condition, f"{condition.key} {round_}", 1_785_000_000.0 + block, measured)


def packed(
    path: Path, vary: dict[str, tuple[Level, ...]], mean_us: dict[str, int], rounds: int = 4, **changes: Sequence[Trial]
) -> Path:
    """A pack of a run with two blocks each round; the means of conditions by their keys."""
    result = s.costly()
    settings = replace(result.settings, conditions=lay_out(vary, bb_twin=True))
    run_id = settings.run_id
    own = [
        trial(condition, round_, 2 * round_ + block, mean_us[condition.key.split("#")[0]] + round_ % 2, position)
        for round_ in range(rounds)
        for block in range(2)
        for position, condition in enumerate(settings.conditions)
    ]
    with Store.open(path.with_suffix(".sqlite")) as store:
        store.create_run(settings, dict(result.machine), dict(result.versions), {})
        for one in changes.get("trials", own):
            store.add_trial(run_id, one)
        store.finish(run_id, replace(result, settings=settings))
        write_pack(store, run_id, path)
    return path


CIPHER: dict[str, tuple[Level, ...]] = {"cipher": ("aes-256",)}
MEANS = {"cipher=none,threads=1": 100, "cipher=aes-256,threads=1": 130}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return packed(tmp_path / "run.tdelta", CIPHER, MEANS)


def test_a_pack_is_known_by_one_importer_only(pack: Path) -> None:
    source = FileSource(pack)
    assert [one.name for one in (*IMPORTERS, PACKS) if one.recognizes(source)] == [PackImporter.name]


def test_each_instance_is_a_run_of_its_condition_with_exact_totals(pack: Path) -> None:
    found = list(PACKS.read(FileSource(pack), Naming(None)))
    mixes = [one for one in found if isinstance(one, Samples) and one.group.transaction == "all"]
    assert {(one.group.condition, one.group.run) for one in mixes} == {
        (name, f"1, round {number}{twin}")
        for name, twins in (("none", ("", ", A/A twin")), ("aes-256", ("", ", B/B twin")))
        for number in (1, 2, 3, 4)
        for twin in twins
    }
    first = mixes[0]
    exact = sum(sum(times_of(mean, block)) for mean in (100, 200) for block in (0, 1)) / 1e6
    assert (first.count, len(first.clusters)) == (800, 2)
    assert first.total == pytest.approx(exact, rel=1e-12)
    assert sum(total for _, total in first.clusters) == pytest.approx(exact, rel=1e-12)
    assert sum(first.bins.counts) == 800


def test_the_answer_has_the_ratio_that_was_packed(pack: Path) -> None:
    result = analyze_files(AnalysisRequest((str(pack),))).result
    ratios = {(one.metric, one.transaction): one for one in result.comparisons}
    decided = ratios["response_time", "all"]
    assert (result.decision, result.baseline, decided.primary) == (Decision.COSTLY, "none", True)
    assert decided.quotient == pytest.approx(1.3, rel=0.01)
    assert ratios["cpu", "all"].quotient == pytest.approx(1.3, rel=0.01)
    assert decided.condition.runs == 8


def test_strata_are_levels_and_a_given_name_stands_before_the_pack_s(tmp_path: Path) -> None:
    means = {f"cipher={cipher},threads={n}": 100 * n for cipher in ("none", "aes-256") for n in (1, 2)}
    pack = packed(tmp_path / "run.tdelta", {**CIPHER, "threads": (1, 2)}, means, rounds=2)
    found = list(PACKS.read(FileSource(pack), Naming("v1", "2")))
    assert {one.group.condition for one in found} == {"v1 none", "v1 aes-256"}
    assert {one.group.levels for one in found} == {(("threads", 1),), (("threads", 2),)}
    assert all(one.group.run.startswith("2, round ") for one in found)


def test_other_compared_factors_name_a_condition(tmp_path: Path) -> None:
    vary: dict[str, tuple[Level, ...]] = {**CIPHER, "aes_instructions": ("on", "off")}
    means = {one.key: 100 for one in lay_out(vary)}
    pack = packed(tmp_path / "run.tdelta", vary, means, rounds=1)
    assert {one.group.condition for one in PACKS.read(FileSource(pack), Naming(None))} == {
        "none",
        "aes-256",
        "aes_instructions=off",
        "aes-256 aes_instructions=off",
    }


def test_a_histogram_of_other_times_is_not_taken(tmp_path: Path) -> None:
    baseline, *_ = lay_out(CIPHER)
    sound = trial(baseline, 0, 0, 100)
    other = {name: histogram_of([5], [200]) for name in sound.measurement.histograms}
    changed = replace(sound, measurement=replace(sound.measurement, histograms=other))
    pack = packed(tmp_path / "run.tdelta", CIPHER, MEANS, trials=[changed])
    found = [one for one in PACKS.read(FileSource(pack), Naming(None)) if one.group.metric == "response_time"]
    assert [type(one) for one in found] == [Figure] * 3


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"operations": 0}, "pack-without-trials"),
        ({"elapsed_ns": -5}, "pack-damaged-by"),
        ({"transactions": {"browse": {"count": 3, "total_ns": 2**62}}}, "pack-damaged-by"),
        ({"histograms": {"tx:browse": "AAAA"}}, "pack-damaged-by"),
    ],
)
def test_figures_that_no_run_has_are_refused(pack: Path, changes: dict[str, object], code: str) -> None:
    head, line, *_ = gzip.decompress(pack.read_bytes()).splitlines(keepends=True)
    values = json.loads(line)
    values["trial"]["measurement"] |= changes
    text = head + json.dumps(values, separators=(",", ":")).encode() + b"\n"
    last = json.dumps({"digest": hashlib.sha256(text).hexdigest()}, separators=(",", ":"))
    pack.write_bytes(gzip.compress(text + last.encode() + b"\n"))
    with pytest.raises(ImportFault) as raised:
        analyze_files(AnalysisRequest((str(pack),)))
    assert raised.value.refusals[0].code == code
    assert str(pack) in str(raised.value)


def test_a_pack_that_was_cut_off_is_refused(pack: Path) -> None:
    pack.write_bytes(pack.read_bytes()[:-40])
    with pytest.raises(ImportFault) as raised:
        analyze_files(AnalysisRequest((str(pack),)))
    assert raised.value.refusals[0].code == "gzip-cut-off"
