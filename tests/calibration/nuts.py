"""NUTS on the whole model of a run: trials to arrays, a program that samples, its chains read back."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tdelta.records import Role, Trial

from .chains import Array, Chains

PROGRAM = Path(__file__).with_name("nuts_models.py")


@dataclass(frozen=True)
class Experiment:
    """Arrays: ``logs`` (B, K, T), ``of_round`` (B,), ``places`` (B, K); ``of_theta`` (K,) is 0 for plain twins."""

    logs: Array
    of_round: NDArray[np.intp]
    of_theta: NDArray[np.intp]
    places: NDArray[np.intp]


def experiment(trials: Sequence[Trial]) -> Experiment:
    conditions = sorted({t.condition.key: t.condition for t in trials}.items())
    blocks = sorted({(t.round, t.block) for t in trials})
    found = {(t.round, t.block, t.condition.key): t.measurement.transactions for t in trials}
    types = sorted(trials[0].measurement.transactions)
    cells = [[[found[*at, key][name] for name in types] for key, _ in conditions] for at in blocks]
    logs = np.log([[[span.total_ns / span.count for span in types] for types in block] for block in cells])
    at = {(t.round, t.block, t.condition.key): t.position for t in trials}
    places = np.array([[at[*block, key] for key, _ in conditions] for block in blocks])
    is_judged = np.array([condition.role is Role.TREATMENT for _, condition in conditions])
    of_theta = np.where(is_judged, np.cumsum(is_judged), 0)
    return Experiment(logs, np.array([round_ for round_, _ in blocks]), of_theta, places)


@dataclass(frozen=True)
class Sampled:
    chains: tuple[Chains, ...]
    diverged: int


def sample(
    model: Literal["rounds", "types"],
    seen: Experiment,
    *,
    draws: int = 700,
    warmup: int = 400,
    timeout_seconds: float = 280.0,
) -> Sampled:
    """Two chains on one CPU; their time is that of sampling, compilation included, start of the program not."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "seen.npz"), Path(folder, "drawn.npz")
        np.savez(source, **asdict(seen), warmup=warmup, draws=draws)
        done = subprocess.run(
            [sys.executable, PROGRAM, model, source, target],
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
            env={**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"},
        )
        if done.returncode != 0:
            raise AssertionError(f"NUTS ended with {done.returncode}:\n{done.stderr[-3000:]}")
        with np.load(target) as found:
            drawn, seconds, diverged = found["drawn"], float(found["seconds"]), int(found["diverged"])
    return Sampled(tuple(Chains(drawn[..., i], seconds) for i in range(drawn.shape[2])), diverged)
