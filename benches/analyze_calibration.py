"""How often the intervals of `tdelta analyze` hold the truth: 1000 simulated experiments per row, as a table.

From the root of the repository, all of it or the rows whose name holds a regular expression::

    OMP_NUM_THREADS=1 python benches/analyze_calibration.py
    OMP_NUM_THREADS=1 python benches/analyze_calibration.py --rows '^runs'

The experiments are those of ``tests/calibration/test_observed_coverage.py``, many times as many, in more cells. Every
row has a seed of its own. Coverage is of 95 % HDIs, nominally 95, with a Monte-Carlo error of 0.7.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from calibration.observed import (
    Answered,
    Session,
    Shape,
    Values,
    as_bins,
    as_samples,
    as_stretched,
    as_summary,
    clumped,
    dependent,
    gamma,
    lognormal,
    session,
    several_runs,
    single_runs,
    stalled,
    tally,
    throughput,
)

Find = Callable[[], Iterator[Answered]]
HEAD = (
    "data|true log ratio|ratio %|difference %|mean %|runs stated to differ by 3 % %|ratio's HDI without 1 %"
    "|slower or faster %|negligible %|kept from deciding %|width, points"
)


def of_values() -> Iterator[tuple[str, str, Find]]:
    """Single response times, histograms, summaries, of one run each."""
    forms = {"samples": as_samples, "histogram": as_bins(), "summary": as_summary}
    for form_name, form in forms.items():
        for name, values, count in _shapes():
            for ratio in (0.0, 0.05, 0.8) if name == "gamma, CV 0.6" and count == 1000 else (0.05,):
                find = partial(single_runs, name, values, count, ratio, form=form)
                yield f"{form_name}, {name}, n = {count}", f"{ratio:g}", find
    for ratio in (0.0, 2.0):
        yield "samples, gamma, CV 0.6, n = 500", f"{ratio:g}", partial(single_runs, "gamma", gamma(0.6), 500, ratio)


def _shapes() -> Iterator[tuple[str, Values, int]]:
    for count in (20, 50, 1000, 20_000):
        yield "gamma, CV 0.6", gamma(0.6), count
    yield "gamma, CV 1.5", gamma(1.5), 1000
    yield "gamma, CV 0.1", gamma(0.1), 1000
    yield "lognormal, sigma 1", lognormal(1.0), 3000
    yield "stalls of 30 times in 0.2 %", stalled(), 20_000


def of_dependent_values() -> Iterator[tuple[str, str, Find]]:
    """Response times that hang together, with the stretches an importer keeps."""
    for memory in (0.9, 0.99, 0.999):
        form = as_stretched(500)
        find = partial(single_runs, f"dependent {memory}", dependent(memory), 10_000, 0.0, form=form)
        yield f"samples, dependent, AR {memory:g}, n = 10000", "0", find
    find = partial(single_runs, "dependent, unseen", dependent(0.99), 10_000, 0.0)
    yield "the same, AR 0.99, without stretches", "0", find
    find = partial(single_runs, "independent", gamma(0.6), 10_000, 0.0, form=as_stretched(500))
    yield "samples, independent, n = 10000", "0", find


def of_runs() -> Iterator[tuple[str, str, Find]]:
    """Several runs: what they differ by, and what their own figures leave open."""
    for runs in ((2, 2), (3, 3), (5, 5), (1, 3), (2, 5)):
        for tau in (0.0, 0.003, 0.01, 0.03, 0.1):
            yield (
                f"runs {runs[0]}+{runs[1]}, differ {100 * tau:g} %, own error 0.5 %",
                "0.05",
                partial(several_runs, runs, tau, 0.005, 0.05),
            )
    for runs in ((2, 2), (3, 3), (5, 5)):
        for tau in (0.002, 0.02, 0.1):
            find = partial(several_runs, runs, tau, 0.0, 0.05, bare=True)
            yield f"runs {runs[0]}+{runs[1]} of one figure, differ {100 * tau:g} %", "0.05", find


def of_series() -> Iterator[tuple[str, str, Find]]:
    """Throughput over time."""
    for count in (60, 300, 1200):
        for rho in (0.0, 0.5, 0.8, 0.95):
            yield (
                f"throughput, {count} s, AR {rho:g}",
                "0.05",
                partial(throughput, Shape(f"ar {rho}", rho), count, 0.05),
            )
        slow = Shape("slow", 0.0, 0.1, 0.95, 0.05)
        yield f"throughput, {count} s, noise and slow waves (AR 0.95)", "0.05", partial(throughput, slow, count, 0.05)
        checkpoints = Shape("checkpoints", every=30)
        yield f"throughput, {count} s, checkpoints every 30 s", "0.05", partial(throughput, checkpoints, count, 0.05)


def of_instances() -> Iterator[tuple[str, str, Find]]:
    """One run each where runs differ: what the interval of these two runs does not cover."""
    for instance_effect in (0.0, 0.01, 0.03, 0.06):
        for ratio in (0.0, 0.1):
            find = partial(
                single_runs, f"luck {instance_effect}", gamma(0.6), 60_000, ratio, instance_effect=instance_effect
            )
            yield f"one run each, runs differ {100 * instance_effect:g} %, n = 60000", f"{ratio:g}", find


def of_sessions() -> Iterator[tuple[str, str, Find]]:
    """Runs in their order: drift, a walk, turns, times that are not known, rounding, three runs in all."""
    for drift, tau in ((0.0, 0.01), (0.003, 0.005), (0.01, 0.01), (0.01, 0.003)):
        for has_times in (True, False):
            known = "times known" if has_times else "times not known"
            name = f"5 then 5 runs, differ {100 * tau:g} %, drift {100 * drift:g} % a run, {known}"
            yield name, "0", partial(session, Session(tau=tau, drift=drift, has_times=has_times), 0.0)
    yield "5 then 5 runs, walk 1 % per run, times known", "0", partial(session, Session(walk=0.01, tau=0.005), 0.0)
    yield "5 then 5 runs, differ 1 %, times known", "0.1", partial(session, Session(), 0.1)
    for drift in (0.0, 0.01):
        name = f"5 and 5 runs in turn, differ 1 %, drift {100 * drift:g} % a run, times known"
        yield name, "0", partial(session, Session(drift=drift, in_turn=True), 0.0)
    for tau in (0.001, 0.003, 0.01, 0.03):
        for ratio in (0.0, 0.05):
            find = partial(session, Session((2, 1), tau, has_times=False), ratio)
            yield f"2 and 1 runs of one figure, differ {100 * tau:g} %", f"{ratio:g}", find
    for tau in (0.0005, 0.005):
        find = partial(session, Session((3, 3), tau, has_times=False, digit=0.0154), 0.0163)
        yield f"3 and 3 runs, differ {100 * tau:g} %, last digit 1.54 %", "0.0163", find


def of_clumps() -> Iterator[tuple[str, str, Find]]:
    """One run each with clumped stalls: what the interval of independent values holds, and that it does not decide."""
    for name, form in (("histogram", as_bins()), ("summary", as_summary)):
        find = partial(single_runs, "clumped", clumped(), 20_000, 0.0, form=form)
        yield f"{name}, 1 % of 20000 values stall x30 in clumps of 50", "0", find


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--rows", type=re.compile, default=re.compile(""), metavar="REGEX", help="rows by their name")
    asked = parser.parse_args()
    began = time.monotonic()
    print(f"| {HEAD.replace('|', ' | ')} |\n|{'---|' * (HEAD.count('|') + 1)}")
    for study in (of_values, of_dependent_values, of_runs, of_series, of_instances, of_sessions, of_clumps):
        for name, ratio, find in study():
            if asked.rows.search(name):
                found = tally(islice(find(), asked.experiments))
                shares = [share for field, share in vars(found).items() if field != "points"]
                cells = (name, ratio, *(f"{100 * share:.1f}" for share in shares), f"{found.points:.1f}")
                print(f"| {' | '.join(cells)} |", flush=True)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
