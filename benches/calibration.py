"""How often tdelta's intervals hold the truth: 1000 simulated experiments a row, as a table.

One command, from the root of the repository, some five minutes on one core::

    OMP_NUM_THREADS=1 python benches/calibration.py

The experiments are those of ``tests/calibration``, five times as many, on more machines. Seeds are fixed:
the table repeats.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from calibration.harness import (
    LOG_RATIOS,
    MACHINES,
    Tally,
    fixed_rounds,
    stopped_on_precision,
    transaction_types,
)
from calibration.simulation import BASELINE, NOISES, TREATMENT, Machine

Row = tuple[str, Machine, str, Tally]


def of_fixed_rounds(experiments: int) -> Iterator[Row]:
    """Three to eight rounds, each log ratio, each machine."""
    for machine in MACHINES:
        for log_ratio in LOG_RATIOS:
            yield "3-8 rounds", machine, f"{log_ratio:g}", fixed_rounds(machine, log_ratio, experiments)
    for trial_sd in (0.003, 0.02, 0.1):
        for luck_sd in (0.003, 0.01):
            machine = Machine(trial_sd=trial_sd, luck_sd=luck_sd)
            yield "3-8 rounds", machine, "0", fixed_rounds(machine, 0.0, experiments)


def of_small_designs(experiments: int) -> Iterator[Row]:
    """One round; two rounds; three where the prior of luck is most at odds with the machine; no A/A twin."""
    for rounds in (1, 2):
        for luck_sd in (0.003, 0.01, 0.02):
            machine = Machine(trial_sd=0.03, luck_sd=luck_sd)
            yield f"{rounds} round(s)", machine, "0", fixed_rounds(machine, 0.0, experiments, rounds=[rounds])
    for noise in NOISES:
        machine = Machine(trial_sd=0.01, noise=noise, luck_sd=0.003)
        yield "3 round(s)", machine, "0", fixed_rounds(machine, 0.0, experiments, rounds=[3])
    machine = Machine(luck_sd=0.01)
    yield "no A/A twin", machine, "0", fixed_rounds(machine, 0.0, experiments, conditions=(BASELINE, TREATMENT))


def of_stopping(experiments: int) -> Iterator[Row]:
    """Looks at the end of each round, from the third to the tenth."""
    for luck_sd in (0.003, 0.01):
        for log_ratio in (0.0, 0.05):
            machine = Machine(trial_sd=0.03, luck_sd=luck_sd)
            found, rounds = stopped_on_precision(machine, log_ratio, experiments)
            yield f"precision, {rounds:.1f} rounds", machine, f"{log_ratio:g}", found


def of_transaction_types(experiments: int) -> Iterator[Row]:
    """Six types that cost 5 % and differ by 0, 2 or 20 %; luck that is theirs in common, by half, or each one's own."""
    for spread in (0.0, 0.02, 0.2):
        for own_luck in (0.0, 0.5, 1.0):
            machine = Machine(luck_sd=0.01)
            found = transaction_types(machine, spread, experiments, own_luck=own_luck)
            yield f"types, own luck {own_luck:g}", machine, f"0.05 ± {spread:g}", found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=1000)
    experiments = parser.parse_args().experiments
    print("| design | machine | log ratio | coverage of HDI95 % | costly or faster % | bias, points | width, points |")
    print("|---|---|---|---|---|---|---|")
    for study in (of_fixed_rounds, of_small_designs, of_stopping, of_transaction_types):
        for design, machine, log_ratio, found in study(experiments):
            # Where the truth lies outside the ROPE there is no false alarm to count.
            alarms = f"{100 * found.false_alarms:.1f}" if log_ratio == "0" else ""
            bias = round(found.bias, 2) + 0.0
            figures = f"{100 * found.covered:.1f} | {alarms} | {bias:+.2f} | {found.points:.1f}"
            print(f"| {design} | {machine.name} | {log_ratio} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
