"""``tdelta scaling`` over cores: rows of one workload on machines of several sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from .calling import call

CORES = (2, 4, 8, 16)


def rows(cores: Iterable[int], threads: Callable[[int], tuple[int, ...]]) -> list[str]:
    """Of systems whose one writer is full at eight cores: +10 % before, +30 % there."""
    sizes = [(c, n) for c in cores for n in threads(c)]
    found = []
    for name, work, log in (("plain", 1.0, 1.0), ("aes", 1.1, 1.3)):
        for c, n in sizes:
            found.append(f"{name},{c},{n},{1e3 / ((work / c) ** 4 + (log / 8) ** 4) ** 0.25:.2f}")
    return found


def per_core(cores: int) -> tuple[int, ...]:
    return (4 * cores,)


def saved(folder: Path, rows: Iterable[str], header: str = "condition,cores,threads,tps") -> str:
    path = folder / "sizes.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return str(path)


def document(*arguments: str) -> dict[str, Any]:
    found = call("scaling", *arguments, "--json")
    assert found.code == 0, found.err
    return dict(json.loads(found.out))


def points(of: dict[str, Any]) -> list[tuple[int, int | None, str]]:
    (curve,) = of["curves"]
    assert (of["over"], curve["over"], curve["levels"]) == ("cores", "cores", {})
    return [(point["cores"], point["threads"], point["kind"]) for point in curve["points"]]


def refusals(*arguments: str) -> list[str]:
    refused = call("scaling", *arguments)
    assert refused.code == 2
    return [one.code for one in refused.refusals]


def test_more_cores_than_the_sweep_has_are_marked_as_predictions(tmp_path: Path) -> None:
    path = saved(tmp_path, rows(CORES, per_core))
    found = document(path)
    measured = [(cores, 4 * cores, "measured") for cores in CORES]
    assert points(found) == [*measured, (32, 128, "prediction"), (64, 256, "prediction")]
    for point in found["curves"][0]["points"][len(CORES) :]:
        low, high = point["prediction"]["band95"]
        assert low < 1.3 < high
    (line,) = (line for line in call("scaling", path).out.splitlines() if line.strip().startswith("32 "))
    assert (line.split()[1], line.split()[-1]) == ("128", "prediction")


def test_one_number_of_threads_whatever_the_cores_is_a_rule(tmp_path: Path) -> None:
    found = document(saved(tmp_path, rows(CORES, lambda _: (64,))), "--cores", "24")
    assert points(found) == [*((cores, 64, "measured") for cores in CORES), (24, 64, "prediction")]
    assert found["cautions"] == []


def test_without_threads_there_is_a_caution(tmp_path: Path) -> None:
    without = [re.sub(r"^(\w+,\d+),\d+", r"\1", row) for row in rows(CORES, per_core)]
    found = document(saved(tmp_path, without, "condition,cores,tps"))
    assert {threads for _, threads, _ in points(found)} == {None}
    assert [caution["code"] for caution in found["cautions"]] == ["cores-without-threads"]


def test_clients_are_threads(tmp_path: Path) -> None:
    found = document(saved(tmp_path, rows(CORES, per_core), "condition,cores,clients,tps"))
    assert points(found)[-1] == (64, 256, "prediction")


def test_what_was_measured_beyond_the_fit_is_held_out(tmp_path: Path) -> None:
    found = document(saved(tmp_path, rows((*CORES, 32), per_core)), "--fit-to", "16")
    assert points(found)[-1] == (32, 128, "held-out")


def test_several_numbers_of_threads_on_every_machine_are_sweeps_over_threads(tmp_path: Path) -> None:
    found = document(saved(tmp_path, rows((2, 4), lambda _: (4, 8, 16, 32))))
    assert (found["over"], [curve["levels"] for curve in found["curves"]]) == ("threads", [{"cores": 2}, {"cores": 4}])


@pytest.mark.parametrize(
    ("given", "options", "codes"),
    [
        (rows(CORES[:3], per_core), (), ["no-sweep-of-cores"]),
        (rows(CORES, per_core), ("--fit-to", "8"), ["no-sweep-of-cores"]),
        (rows(CORES, per_core), ("--cores", "65"), ["scaling-too-far"]),
        (rows(CORES, lambda cores: (cores + 8,)), (), ["cores-and-threads"]),
        (rows(CORES, lambda cores: (8, 16)), ("--cores", "32"), ["cores-and-threads"]),
        (rows(CORES, lambda _: (8,)), (), ["cores-idle"]),
        (
            [*rows(CORES, lambda cores: (cores + 8,)), "plain,half,64,1", "aes,0,64,1"],
            (),
            ["not-a-number-of", "cores-and-threads"],
        ),
    ],
)
def test_what_is_no_sweep_over_cores_is_refused(
    tmp_path: Path, given: list[str], options: tuple[str, ...], codes: list[str]
) -> None:
    assert refusals(saved(tmp_path, given), *options) == codes


def test_the_page_is_of_cores(tmp_path: Path) -> None:
    page = tmp_path / "scaling.html"
    assert call("scaling", saved(tmp_path, rows(CORES, per_core)), "--output", str(page)).code == 0
    (drawn,) = re.findall(r"<svg.*?</svg>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert (drawn.count('class="dot"'), drawn.count('class="plain-dot"')) == (len(CORES), 2)
    assert "32 cores: 128, " in drawn
