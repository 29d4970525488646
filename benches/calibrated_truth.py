"""Is a cost that `tdelta calibrate` calls visible in five minutes found by runs of five minutes?

    .venv/bin/python benches/calibrated_truth.py --out calibrated_truth.jsonl
    .venv/bin/python benches/calibrated_truth.py --summarize calibrated_truth.jsonl

Calibrates this machine (ten minutes), injects the cost that the calibration calls visible, and conducts ten runs of
five minutes with it (a baseline, its A/A twin, the injected one), each asked for the rounds that the calibration found
to fit, so that none ends at its precision before: about an hour, on an otherwise idle machine. Everything is in a store
of its own beside the output. A share of CPU time is injected and a part of response time is waiting, so the share is
raised by what the calibration saw of that; what counts is what each run actual, which is shown beside. Prints a
table, and ends with 1 if fewer than 8 of 10 were called slower.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

SEED = 2026
FEWEST_OF_TEN = 0.8


def call(arguments: argparse.Namespace, *words: str, allowed: tuple[int, ...]) -> dict:
    """One command's JSON document; ends the bench where it failed."""
    command = [arguments.tdelta, *words, "--store", str(arguments.out.with_suffix(".sqlite")), "--json"]
    finished = subprocess.run([*command, *arguments.extra], capture_output=True, text=True, check=False)
    if finished.returncode not in allowed:
        sys.exit(f"{' '.join(command)} ended with {finished.returncode}:\n{finished.stderr}")
    return json.loads(finished.stdout)


def conduct(arguments: argparse.Namespace) -> None:
    """Calibrate, then run; a file that has some lines already is gone on with."""
    lines = arguments.out.read_text().splitlines() if arguments.out.exists() else []
    if not lines:
        found = call(arguments, "calibrate", "--max-time", arguments.calibrate, "--seed", str(SEED), allowed=(0, 4))
        if not found["is_valid"]:
            sys.exit(f"calibration is invalid: {found['faults']}")
        append(arguments.out, found)
        lines = arguments.out.read_text().splitlines()
    calibration = json.loads(lines[0])
    detectable_effects = next(
        one for one in calibration["minimum_detectable_effect"] if one["minutes"] == arguments.minutes
    )
    injected = share_to_inject(calibration, detectable_effects["mde_vs_tolerance"])
    for number in range(len(lines) - 1, arguments.runs):
        document = call(
            arguments,
            *("run", "--vary", "cipher=none", "--inject", f"{100 * injected:.4g}%"),
            *(
                "--max-time",
                f"{arguments.minutes:g}m",
                "--rounds",
                str(arguments.rounds or max(3, detectable_effects["rounds"])),
            ),
            *("--seed", str(SEED + 1 + number)),
            allowed=(0, 3, 4),
        )
        append(arguments.out, brief(document))
        print(f"{number + 1}/{arguments.runs}", file=sys.stderr, flush=True)


def share_to_inject(calibration: dict, overhead: float) -> float:
    """The share of CPU time whose actual cost is that overhead in response time, by what the calibration actual."""
    seen = next(tally for tally in calibration["injected"] if tally["metric"] == "response_time")
    return overhead * seen["injected"] / (seen["actual"] - 1)


def brief(document: dict) -> dict:
    """The fields of one run's JSON for the summary."""
    verdicts = [v for v in document["verdicts"] if v["primary"]]
    injected = next(v for v in verdicts if "injected" in v["condition"])
    return {
        "run_id": document["run_id"],
        "calibration": (document["settings"]["calibration"] or {}).get("calibration_id"),
        "rounds": document["counts"]["rounds"],
        "stopped_by": document["stopped_by"],
        "injected": {name: injected[name] for name in ("decision", "actual", "ratio_of_means")},
    }


def append(path: Path, values: dict) -> None:
    """One more line."""
    with path.open("a") as file:
        file.write(json.dumps(values) + "\n")


def summarize(path: Path, minutes: float) -> int:
    """Print what the runs say; 1 where too few were found."""
    calibration, *runs = (json.loads(line) for line in path.read_text().splitlines())
    detectable_effects = next(one for one in calibration["minimum_detectable_effect"] if one["minutes"] == minutes)
    noise = calibration["noise"][0]
    print(
        f"calibration: {len(calibration['run_ids'])} runs in {calibration['elapsed_seconds']:.0f} s, a pair"
        f" {100 * noise['pair_sd']:.2f} %, luck {100 * noise['instance_sd']:.2f} %, visible in {minutes:g} min:"
        f" {100 * detectable_effects['mde_vs_tolerance']:+.2f} % ({detectable_effects['rounds']} rounds foreseen)"
    )
    print("| run | rounds | actual % | read % | 95 % HDI | verdict |\n|---|---|---|---|---|---|")
    for run in runs:
        ratio = run["injected"]["ratio_of_means"]
        low, high = (f"{100 * (end - 1):+.2f}" for end in ratio["hdi95"])
        print(
            f"| {run['run_id']} | {run['rounds']} | {100 * (run['injected']['actual'] - 1):+.2f} |"
            f" {100 * (ratio['median'] - 1):+.2f} | {low} … {high} | {run['injected']['decision']} |"
        )
    found = sum(run["injected"]["decision"] == "slower" for run in runs)
    actual = statistics.mean(100 * (run["injected"]["actual"] - 1) for run in runs)
    begun = sum(run["calibration"] == calibration["calibration_id"] for run in runs)
    print(f"called slower: {found} of {len(runs)}; actual on average {actual:+.2f} %; begun calibrated: {begun}")
    return int(found < FEWEST_OF_TEN * len(runs))


def main() -> None:
    """Run, then summarize."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calibrate", default="10m", help="how long to calibrate")
    parser.add_argument("--minutes", type=float, default=5.0, help="length of a run, as in the calibration")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rounds", help="of a run, in place of those that the calibration found to fit")
    parser.add_argument("--tdelta", default=str(Path(sys.executable).with_name("tdelta")))
    parser.add_argument("--out", type=Path, default=Path("calibrated_truth.jsonl"))
    parser.add_argument("--summarize", type=Path)
    parser.add_argument("extra", nargs="*", help="more options of both commands, after --")
    arguments = parser.parse_args()
    if arguments.summarize is None:
        conduct(arguments)
    sys.exit(summarize(arguments.summarize or arguments.out, arguments.minutes))


if __name__ == "__main__":
    main()
