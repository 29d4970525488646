"""How often tdelta's intervals hold the truth: 1000 simulated experiments per row, as tables.

From the root of the repository, all of it (some eleven minutes on one core), or the rows whose name holds a regular
expression::

    OMP_NUM_THREADS=1 python benches/calibration.py
    OMP_NUM_THREADS=1 python benches/calibration.py --rows '^gate|luck 1 %'

The grid of processes on which the verdict is checked, and what it breaks, with two processes (some one hour)::

    OMP_NUM_THREADS=1 python benches/calibration.py --grid
    OMP_NUM_THREADS=1 python benches/calibration.py --grid --rows '^gate|stalls' --experiments 300

The experiments are those of ``tests/calibration``, five times as many, on more machines. Seeds are fixed, each row
having one of its own: a row is the same whether the others run or not.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import numpy as np
from grid_tables import print_grid

from calibration.grid import FIRST_LOOK, answer_of, cells, gate_cells
from calibration.harness import (
    LOG_RATIOS,
    MACHINES,
    TOLERANCE,
    Tally,
    answers,
    contrasts,
    gated,
    plain_twins,
    stopping_on_precision,
    tally,
    types,
)
from calibration.known_luck import with_luck
from calibration.simulation import (
    BASELINE,
    NOISES,
    OTHERS,
    THREE,
    TREATMENT,
    TWINS,
    Machine,
    generator,
    settings,
    simulate,
)
from calibration.tails import Slow, Stalling, TailTally, exceeded, observed, percentiles, slow_shares, slow_trials
from tdelta.inference.decisions import LEAST_WIDTH, decide_means
from tdelta.inference.verdicts import grounds_of
from tdelta.records import Condition, Decision, Estimate, InstanceEffectPrior

COVERAGE = "design|machine|log ratio|coverage of HDI95 %|slower or faster %|bias, points|width, points|rounds"
GATE = "budget|machine|true overhead %|over %|within %|undecided %|rounds|coverage of HDI95 %|bias, points"
TWIN = "limit|machine|twins truly apart %|invalid %|HDI95 without 0 %"
TAIL = "tail|machine|log effect|has an interval %|covered %|truth above it %|truth below it %|end over ratio|rounds"

BAD = "tail|process|times|bad trials|has an interval %|truth above it %|truth below it %|more %|less %|rounds"


@dataclass(frozen=True)
class Row:
    """The first three cells of a row, and what finds the others in so many experiments."""

    cells: tuple[str, str, str]
    others: Callable[[int], tuple[str, ...]]

    @property
    def name(self) -> str:
        """The value that ``--rows`` is compared with."""
        return " | ".join(self.cells)


def percent(share: float) -> str:
    """A share as a cell."""
    return f"{100 * share:.1f}"


def points(bias: float) -> str:
    """A bias as a cell, never -0.00."""
    return f"{round(bias, 2) + 0.0:+.2f}"


def covering(
    design: str, machine: Machine, log_ratio: str, find: Callable[[int], Tally | tuple[Tally, float]], rounds: str = ""
) -> Row:
    """A row of the first table; an experiment that says how many rounds it took overrides ``rounds``."""

    def others(experiments: int) -> tuple[str, ...]:
        answer = find(experiments)
        found, used = answer if isinstance(answer, tuple) else (answer, None)
        # Where the truth lies outside the tolerance there is no false alarm to count.
        alarms = percent(found.false_alarms) if log_ratio == "0" else ""
        took = rounds if used is None else f"{used:.1f}"
        return percent(found.covered), alarms, points(found.bias), f"{found.points:.1f}", took

    return Row((design, machine.name, log_ratio), others)


def tailing(what: str, machine: Stalling | Slow, effect: float, find: Callable[[int], TailTally], rounds: str) -> Row:
    """A row of the table of tails; the factor is that between an interval's upper end and its ratio."""

    def others(experiments: int) -> tuple[str, ...]:
        found = find(experiments)
        shares = (found.given, found.covered, found.above, found.below)
        return *map(percent, shares), f"{found.factor:.2f}", rounds

    return Row((f"tail, {what}", machine.name, f"{effect:g}"), others)


def fixed_rounds(
    machine: Machine,
    log_ratio: float,
    experiments: int,
    *,
    rounds: Sequence[int] = (3, 4, 5, 6, 7, 8),
    conditions: Sequence[Condition] = TWINS,
) -> Tally:
    return tally(islice(answers(machine, log_ratio, rounds=rounds, conditions=conditions), experiments))


def stopped_on_precision(
    machine: Machine, log_ratio: float, experiments: int, *, precision: float = LEAST_WIDTH, most: int
) -> tuple[Tally, float]:
    found = list(islice(stopping_on_precision(machine, log_ratio, precision=precision, most=most), experiments))
    return tally(one.pair for one in found), float(np.mean([one.rounds for one in found]))


def peeked(machine: Machine, log_ratio: float, experiments: int, *, most: int = 12) -> tuple[Tally, float]:
    """Experiments that somebody ends by hand at the first verdict, looking after each round from the third on.

    Returns:
        The tally, and the mean number of rounds. The shipped rules do not stop so.
    """
    asked = settings()

    def answer(index: int) -> tuple[int, Estimate]:
        trials = simulate(generator(index, "peeked", machine.name, log_ratio), machine, [log_ratio], rounds=most)
        for rounds in range(FIRST_LOOK, most + 1):
            found = answer_of([t for t in trials if t.round < rounds], asked)
            estimate = found.posterior.estimate(TOLERANCE)
            if decide_means(estimate, grounds_of(found, TOLERANCE), TOLERANCE) is not Decision.UNDECIDED:
                break
        return rounds, estimate

    found = [answer(index) for index in range(experiments)]
    return tally((log_ratio, estimate) for _, estimate in found), float(np.mean([rounds for rounds, _ in found]))


def contrasted(machine: Machine, log_ratio: float, heavier: float, experiments: int) -> Tally:
    return tally(islice(contrasts(machine, log_ratio, heavier), experiments))


def transaction_types(machine: Machine, spread: float, experiments: int, *, own_luck: float = 0.5) -> Tally:
    found = islice(types(machine, spread, own_luck=own_luck), experiments)
    return tally(pair for pairs in found for pair in pairs)


def of_fixed_rounds() -> Iterator[Row]:
    """Three to eight rounds, each log ratio, each machine."""
    for machine in MACHINES:
        for ratio in LOG_RATIOS:
            yield covering("fixed", machine, f"{ratio:g}", partial(fixed_rounds, machine, ratio), "3-8")
    for trial_sd in (0.003, 0.02, 0.1):
        for instance_sd in (0.003, 0.01):
            machine = Machine(trial_sd=trial_sd, instance_sd=instance_sd)
            yield covering("fixed", machine, "0", partial(fixed_rounds, machine, 0.0), "3-8")


def of_small_designs() -> Iterator[Row]:
    """One round; two rounds; three where the prior of luck is most at odds with the machine; no A/A twin."""
    for rounds in (1, 2):
        for instance_sd in (0.003, 0.01, 0.02):
            machine = Machine(trial_sd=0.03, instance_sd=instance_sd)
            yield covering(
                "few rounds", machine, "0", partial(fixed_rounds, machine, 0.0, rounds=[rounds]), f"{rounds}"
            )
    for noise in NOISES:
        machine = Machine(trial_sd=0.01, noise=noise, instance_sd=0.003)
        yield covering("few rounds", machine, "0", partial(fixed_rounds, machine, 0.0, rounds=[3]), "3")
    machine = Machine(instance_sd=0.01)
    find = partial(fixed_rounds, machine, 0.0, conditions=(BASELINE, TREATMENT))
    yield covering("no A/A twin", machine, "0", find, "3-8")


def of_unequal_conditions() -> Iterator[Row]:
    """A case that the model excludes: a treatment with twice the noise or luck of the plain twins."""
    for instance_sd in (0.003, 0.01):
        for noise, instance_effect in ((2.0, 1.0), (1.0, 2.0), (2.0, 2.0)):
            machine = Machine(
                trial_sd=0.03, instance_sd=instance_sd, treatment_noise=noise, treatment_luck=instance_effect
            )
            yield covering("unequal", machine, "0", partial(fixed_rounds, machine, 0.0), "3-8")
    for noise, instance_effect in ((2.0, 1.0), (1.0, 2.0), (2.0, 2.0)):
        machine = Machine(trial_sd=0.03, instance_sd=0.01, treatment_noise=noise, treatment_luck=instance_effect)
        find = partial(fixed_rounds, machine, 0.0, conditions=(*THREE, *OTHERS))
        yield covering("unequal, one of 4", machine, "0", find, "3-8")


def of_contrasts() -> Iterator[Row]:
    """Two treatments, the second over the first: what the AES instructions save is such a ratio."""
    for noise in NOISES:
        for instance_sd in (0.003, 0.01):
            machine = Machine(noise=noise, instance_sd=instance_sd)
            for heavier in (0.0, 0.3, 1.5):
                find = partial(contrasted, machine, 0.5, heavier)
                yield covering("contrast", machine, f"{heavier:g}", find, "3-8")


def of_known_luck() -> Iterator[Row]:
    """Runs that begin with a calibration: right, wrong in either direction, and none beside them."""
    priors = {"none": None, "0.3 %": InstanceEffectPrior(0.003, 0.45, 0.2), "1 %": InstanceEffectPrior(0.01, 0.45, 0.2)}
    for rounds, said in (((3,), "3"), ((3, 4, 5, 6, 7, 8), "3-8")):
        for instance_sd in (0.003, 0.01):
            machine = Machine(trial_sd=0.02, instance_sd=instance_sd)
            for name, prior in priors.items():
                find = partial(with_luck, machine, [prior], rounds=rounds)
                yield covering(f"known luck: {name}", machine, "0", find, said)


def of_precision() -> Iterator[Row]:
    """Looks at the end of each round from the third on: 3 points aimed at, and the shipped target for large ones."""
    for instance_sd in (0.003, 0.01):
        for ratio in (0.0, 0.05):
            machine = Machine(trial_sd=0.03, instance_sd=instance_sd)
            find = partial(stopped_on_precision, machine, ratio, precision=0.03, most=10)
            yield covering("precision, 3 points", machine, f"{ratio:g}", find)
    for instance_sd in (0.003, 0.01):
        for ratio in (0.25, 0.8):
            # At the larger overhead noisier trials, so that the target is met after a number of rounds there, too.
            machine = Machine(trial_sd=0.06 if ratio > 0.5 else 0.03, instance_sd=instance_sd)
            find = partial(stopped_on_precision, machine, ratio, most=16)
            yield covering("precision, shipped target", machine, f"{ratio:g}", find)


def of_peeking() -> Iterator[Row]:
    """Runs that are ended by hand at the first verdict: away from the edge of the tolerance, and on it."""
    for trial_sd, instance_sd, overhead in ((0.03, 0.005, 0.0), (0.01, 0.01, 0.02), (0.03, 0.005, 0.05)):
        machine = Machine(trial_sd=trial_sd, instance_sd=instance_sd)
        ratio = math.log1p(overhead)
        yield covering("ended at the first verdict", machine, f"{ratio:.3g}", partial(peeked, machine, ratio))


def of_transaction_types() -> Iterator[Row]:
    """Six types that cost 5 % and differ by 0, 2 or 20 %; luck that is theirs in common, by half, or each one's own."""
    for spread in (0.0, 0.02, 0.2):
        for own_luck in (0.0, 0.5, 1.0):
            machine = Machine(instance_sd=0.01)
            find = partial(transaction_types, machine, spread, own_luck=own_luck)
            yield covering(f"types, own luck {own_luck:g}", machine, f"0.05 ± {spread:g}", find, "3-8")


def of_gates() -> Iterator[Row]:
    """A budget of 5 %: at the edge, and on either side of it."""

    def row(machine: Machine, overhead: float) -> Row:
        def others(experiments: int) -> tuple[str, ...]:
            found = gated(machine, overhead, experiments)
            shares = (found.over, found.within, 1.0 - found.over - found.within)
            return *map(percent, shares), f"{found.rounds:.1f}", percent(found.covered), points(found.bias)

        return Row(("gate, budget 5 %", machine.name, f"{100 * overhead:g}"), others)

    for noise in NOISES:
        for instance_sd in (0.003, 0.01):
            yield row(Machine(trial_sd=0.03, noise=noise, instance_sd=instance_sd), 0.05)
    for overhead in (0.02, 0.03, 0.07, 0.08):
        yield row(Machine(trial_sd=0.03, instance_sd=0.01), overhead)


def of_plain_twins() -> Iterator[Row]:
    """The A/A check: sound twins, and twins that truly differ."""

    def row(limit: str, machine: Machine, apart: float, budget: float | None) -> Row:
        def others(experiments: int) -> tuple[str, ...]:
            found = plain_twins(machine, apart, experiments, budget=budget)
            return percent(found.invalid), percent(found.differing)

        return Row((f"A/A, {limit}", machine.name, f"{100 * apart:g}"), others)

    for trial_sd in (0.01, 0.03, 0.06):
        for instance_sd in (0.003, 0.01):
            for apart in (0.0, 0.03, 0.05):
                yield row("tolerance 2 %", Machine(trial_sd=trial_sd, instance_sd=instance_sd), apart, None)
    for apart in (0.0, 0.03):
        yield row("budget 1 %", Machine(trial_sd=0.03, instance_sd=0.01), apart, 0.01)


def of_exceedances() -> Iterator[Row]:
    """How often a threshold was exceeded: rounds and luck, a common threshold and a rare one."""
    for instance_sd, stall_luck_sd in ((0.0, 0.0), (0.003, 0.1), (0.01, 0.3)):
        machine = Stalling(instance_sd=instance_sd, stall_luck_sd=stall_luck_sd)
        for share in (0.05, 0.01, 0.002):
            for effect in (0.0, 0.2):
                find = partial(exceeded, machine, effect, share, rounds=range(3, 9))
                yield tailing(f"longer, {100 * share:g} % of plain", machine, effect, find, "3-8")
    for rounds, blocks in (((2,), 20), ((3,), 6), ((16,), 6)):
        machine = Stalling(instance_sd=0.01, stall_luck_sd=0.3)
        find = partial(exceeded, machine, 0.2, 0.01, rounds=rounds, blocks=blocks)
        yield tailing(f"longer, 1 % of plain, {blocks} blocks per round", machine, 0.2, find, f"{rounds[0]}")


SLOW_PATH = Slow(0.02, trial_sd=0.2)
CLUMPS = tuple(Slow(share, clump=60) for share in (0.0007, 0.002, 0.0076))
SIXTY_BLOCKS = ((1, 60), (2, 30), (3, 20), (5, 12))


def of_slow_shares() -> Iterator[Row]:
    """A bimodal path and stalls in clumps, 60 blocks: the ratio of shares, with one to five rounds."""
    for slow in (SLOW_PATH, replace(SLOW_PATH, instance_sd=0.0), *CLUMPS):
        for rounds, blocks in SIXTY_BLOCKS:
            for times in (1.0, 4.0):
                find = partial(slow_shares, slow, times, rounds=rounds, blocks=blocks)
                yield tailing("slow", slow, times, find, f"{rounds}")


def of_bad_trials() -> Iterator[Row]:
    """Stalls in clumps, 60 blocks: trials with any; luck from none to far more than is assumed, and lasting stalls."""

    def row(slow: Slow, times: float, rounds: int, blocks: int) -> Row:
        def others(experiments: int) -> tuple[str, ...]:
            found = slow_trials(slow, times, experiments, rounds=rounds, blocks=blocks)
            shares = (found.given, found.above, found.below, found.more, found.less)
            return f"{found.bad:.1f}", *map(percent, shares), f"{rounds}"

        return Row(("tail, bad trials", slow.name, f"{times:g}"), others)

    middle = CLUMPS[1]
    lucky = [replace(middle, instance_sd=instance_sd) for instance_sd in (0.0, 0.5, 1.0)]
    for slow in (*CLUMPS, *lucky, replace(middle, lasting=3)):
        for rounds, blocks in SIXTY_BLOCKS:
            for times in (1.0, 4.0):
                yield row(slow, times, rounds, blocks)


def of_percentiles() -> Iterator[Row]:
    """The ratio of 99th percentiles: rounds enough for 80 blocks."""
    for instance_sd, stall_luck_sd in ((0.0, 0.0), (0.003, 0.1), (0.01, 0.3)):
        machine = Stalling(instance_sd=instance_sd, stall_luck_sd=stall_luck_sd)
        for effect in (0.0, 0.2):
            find = partial(percentiles, machine, effect, rounds=(14, 16, 20))
            yield tailing("p99", machine, effect, find, "14-20")
    for rounds, blocks in ((3, 30), (5, 16)):
        machine = Stalling(instance_sd=0.01, stall_luck_sd=0.3)
        find = partial(percentiles, machine, 0.2, rounds=(rounds,), blocks=blocks)
        yield tailing(f"p99, {blocks} blocks per round", machine, 0.2, find, f"{rounds}")


def of_observed_tails() -> Iterator[Row]:
    """Runs of other tools: so many a side, each 16,000 transactions with luck of its own; and much shorter ones."""
    sizes = [(400, 0.01, runs) for runs in (3, 5, 10)] + [(25, 0.01, 3), (25, 0.01, 5), (10, 0.05, 3), (10, 0.05, 5)]
    for transactions, share, runs in sizes:
        machine = Stalling(instance_sd=0.01, stall_luck_sd=0.3, transactions=transactions)
        for at, what in enumerate((f"longer, {100 * share:g} % of plain", "p99")):

            def find(
                experiments: int, machine: Stalling = machine, share: float = share, runs: int = runs, at: int = at
            ) -> TailTally:
                return observed(machine, 0.2, share, experiments, runs=runs)[at]

            yield tailing(f"analyze: {what}", machine, 0.2, find, f"{runs} runs")


TABLES: tuple[tuple[str, tuple[Callable[[], Iterable[Row]], ...]], ...] = (
    (
        COVERAGE,
        (
            of_fixed_rounds,
            of_small_designs,
            of_unequal_conditions,
            of_contrasts,
            of_known_luck,
            of_precision,
            of_peeking,
            of_transaction_types,
        ),
    ),
    (GATE, (of_gates,)),
    (TWIN, (of_plain_twins,)),
    (TAIL, (of_exceedances, of_slow_shares, of_percentiles, of_observed_tails)),
    (BAD, (of_bad_trials,)),
)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--rows", type=re.compile, default=re.compile(""), metavar="REGEX", help="rows by their name")
    parser.add_argument("--list", action="store_true", help="the rows' names, and nothing else")
    parser.add_argument("--grid", action="store_true", help="the grid of processes in place of the other tables")
    parser.add_argument("--processes", type=int, default=2, help="of the grid")
    asked = parser.parse_args()
    began = time.monotonic()
    if asked.grid and asked.list:
        print(*filter(asked.rows.search, (*cells(), *gate_cells())), sep="\n")
        return
    if asked.grid:
        print_grid(asked.rows.search, asked.experiments, asked.processes)
        print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
        return
    for heading, studies in TABLES:
        rows = [row for study in studies for row in study() if asked.rows.search(row.name)]
        if asked.list:
            print(*(row.name for row in rows), sep="\n")
        elif rows:
            print(f"\n| {heading.replace('|', ' | ')} |\n|{'---|' * (heading.count('|') + 1)}")
            for row in rows:
                print(f"| {' | '.join((*row.cells, *row.others(asked.experiments)))} |", flush=True)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
