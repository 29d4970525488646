"""Does the instrument tell the truth on this machine? Identical twins, and twins with an injected cost.

    .venv/bin/python benches/truth.py --self-test 40 --inject 5% --inject 10% --runs 20 --max-time 60s --out truth.jsonl
    .venv/bin/python benches/truth.py --summarize truth.jsonl
    .venv/bin/python benches/truth.py --nodes 2 --inject 11% --runs 10 --max-time 180s --out agents.jsonl -- \
        --threads 2 --rate 600 --workload point-select --size 3MB --trial-time 0.6s --warmup 0.1s --no-aa \
        --rounds 10..10

Each run is a whole `tdelta run --self-test`, set-up included, with a seed of its own; the kinds run in a drawn order,
so that the machine's bad hours fall on all of them. With more than one `--inject`, one run holds a twin for each.
`--tdelta` names the program, which need not be the one of this tree. Prints a table; asserts nothing.

With `--nodes N` the load comes from N agents, each on a Ray node in a separate network namespace, and goes to a MariaDB
server of this machine, all of which the bench starts and ends. Takes root, `scripts/need-ray`, `scripts/need-servers`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "live"))
from mariadb import own

from chaos.namespaces import Cluster, cannot
from support.own_engines import PASSWORD

SEED = 2026
VARIABLE = "TRUTH_SERVERS"


@contextlib.contextmanager
def nodes(count: int) -> Iterator[list[str]]:
    """The options of a run whose agents are on that many nodes; none for no nodes."""
    if count == 0:
        yield []
        return
    if lacking := cannot():
        sys.exit(f"--nodes: {lacking}")
    with tempfile.TemporaryDirectory(prefix="tdelta-truth-") as folder, contextlib.ExitStack() as ends:
        cluster = Cluster(Path(folder), nodes=count)
        ends.callback(cluster.end)
        cluster.start()
        at = cluster.database_address
        both = ends.enter_context(own.two(Path(folder), hosts=cluster.hosts, addresses=f"{own.LOCAL},{at}"))
        os.environ[VARIABLE] = PASSWORD
        plain, other = (f"mysql://bench@{at}:{server.port}/?password-env={VARIABLE}&tls=disable" for server in both)
        yield [
            *("--agents", str(count), "--ray", cluster.address),
            *("--baseline", plain, "--encrypted", other),  # identical twins are all on the first one
        ]


def orders(arguments: argparse.Namespace) -> list[tuple[str, list[str]]]:
    """Every run: its kind and its options, in a drawn order."""
    injected = [word for share in arguments.inject for word in ("--inject", share)]
    runs = [("aa", ["--self-test"])] * arguments.self_test + [("injected", ["--self-test", *injected])] * (
        arguments.runs if injected else 0
    )
    random.Random(SEED).shuffle(runs)
    return runs


def conduct(arguments: argparse.Namespace) -> None:
    """Run all, appending one JSON line each; a file that has some lines already is gone on with."""
    done = len(arguments.out.read_text().splitlines()) if arguments.out.exists() else 0
    runs = orders(arguments)
    with nodes(arguments.nodes) as where:
        for number, (kind, options) in list(enumerate(runs))[done:]:
            print(f"{number + 1}/{len(runs)} {kind}", file=sys.stderr, flush=True)
            conduct_one(arguments, kind, [*options, *where], SEED + number)


def conduct_one(arguments: argparse.Namespace, kind: str, options: list[str], seed: int) -> None:
    """One run, and its line."""
    command = [arguments.tdelta, "run", *options, "--max-time", arguments.max_time, "--seed", str(seed)]
    finished = subprocess.run([*command, "--json", *arguments.extra], capture_output=True, text=True, check=False)
    if finished.returncode not in (0, 3, 4):
        sys.exit(f"{' '.join(command)} ended with {finished.returncode}:\n{finished.stderr}")
    document = json.loads(finished.stdout)
    with arguments.out.open("a") as file:
        file.write(json.dumps({"kind": kind, "exit_code": finished.returncode, **brief(document)}) + "\n")


def brief(document: dict) -> dict:
    """The fields of one run's JSON for the summary."""
    primary = [verdict for verdict in document["verdicts"] if verdict["primary"]]
    kept = ("condition", "decision", "ratio_of_means", "actual", "baseline_value")
    return {
        "seed": document["seed"],
        "primary": [{name: verdict[name] for name in kept} for verdict in primary],
        "cpu": [
            {name: verdict[name] for name in kept}
            for verdict in document["verdicts"]
            if verdict["metric"] == "cpu_per_operation" and verdict["transaction"] == "all"
        ],
        "noise_floor": document["noise_floor"],
        "cautions": document["cautions"],
    }


def points(ratio: float) -> float:
    """An overhead in points of percent."""
    return 100 * (ratio - 1)


def summarize(path: Path) -> None:
    """Print what the runs say."""
    runs = [json.loads(line) for line in path.read_text().splitlines()]
    for kind in ("aa", "injected"):
        chosen = [run for run in runs if run["kind"] == kind]
        if chosen:
            identical(kind, chosen)
    shares = sorted(
        {v["condition"]["injected"] for run in runs for v in run["primary"] if "injected" in v["condition"]}
    )
    for metric in ("primary", "cpu"):
        for share in shares:
            injected(metric, share, runs)


def identical(kind: str, runs: list[dict]) -> None:
    """The verdicts on the judged plain twin of these runs."""
    verdicts = [v for run in runs for v in run["primary"] if v["condition"].get("twin") == "identical"]
    widths = [points(v["ratio_of_means"]["hdi95"][1]) - points(v["ratio_of_means"]["hdi95"][0]) for v in verdicts]
    outside = sum(not v["ratio_of_means"]["hdi95"][0] <= 1 <= v["ratio_of_means"]["hdi95"][1] for v in verdicts)
    print(f"identical twins in {kind} runs: {len(verdicts)} runs")
    print(f"  decisions: {dict(Counter(v['decision'] for v in verdicts))}")
    print(f"  95 % HDI excludes 0: {outside}")
    print(f"  width of the 95 % HDI, points: median {statistics.median(widths):.2f}, most {max(widths):.2f}")
    print(f"  mean overhead, points: {statistics.mean(points(v['ratio_of_means']['median']) for v in verdicts):+.2f}")


def injected(metric: str, share: float, runs: list[dict]) -> None:
    """Whether the injected cost was found, and as large as it was."""
    verdicts = [v for run in runs for v in run[metric] if v["condition"].get("injected") == share]
    if not verdicts:  # no CPU time of a server that runs elsewhere
        return
    held = [v["ratio_of_means"]["hdi95"][0] <= v["actual"] <= v["ratio_of_means"]["hdi95"][1] for v in verdicts]
    bias = [points(v["ratio_of_means"]["median"]) - points(v["actual"]) for v in verdicts]
    found = sum(v["ratio_of_means"]["hdi95"][0] > 1 for v in verdicts)
    widths = [points(v["ratio_of_means"]["hdi95"][1]) - points(v["ratio_of_means"]["hdi95"][0]) for v in verdicts]
    name = "response time" if metric == "primary" else "CPU an operation"
    print(f"injected {share:.0%}, {name}: {len(verdicts)} runs")
    print(f"  actual, points: mean {statistics.mean(points(v['actual']) for v in verdicts):.2f}")
    print(f"  95 % HDI holds the actual cost: {sum(held)}; lies above 0: {found}")
    print(
        f"  bias, points: mean {statistics.mean(bias):+.2f}; width of the HDI: median {statistics.median(widths):.2f}"
    )


def main() -> None:
    """Run, then summarize."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-test", type=int, default=0, help="runs of identical twins")
    parser.add_argument("--inject", action="append", default=[], help="a cost to inject; repeatable")
    parser.add_argument("--runs", type=int, default=20, help="runs with injected costs")
    parser.add_argument("--max-time", default="60s")
    parser.add_argument("--nodes", type=int, default=0, help="load agents, each in a network namespace [none]")
    parser.add_argument("--tdelta", default=str(Path(sys.executable).with_name("tdelta")))
    parser.add_argument("--out", type=Path, default=Path("truth.jsonl"))
    parser.add_argument("--summarize", type=Path)
    parser.add_argument("extra", nargs="*", help="more options of tdelta run, after --")
    arguments = parser.parse_args()
    if arguments.summarize is None:
        conduct(arguments)
    summarize(arguments.summarize or arguments.out)


if __name__ == "__main__":
    main()
