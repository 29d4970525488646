"""JAGS through its command line, and its chains (CODA files) read back: nothing but NumPy is needed.

The samplers' own seeds are given, so a run repeats itself on the same machine and version.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from calibration.chains import Array, Chains

GAMMA_MODEL = """
model {
    for (i in 1:n1) { y1[i] ~ dgamma(m1 * m1 / (s1 * s1), m1 / (s1 * s1)) }
    for (i in 1:n2) { y2[i] ~ dgamma(m2 * m2 / (s2 * s2), m2 / (s2 * s2)) }
    m1 ~ dgamma(1, 1 / pooled)
    m2 ~ dgamma(1, 1 / pooled)
    s1 ~ dunif(0, 100)
    s2 ~ dunif(0, 100)
    difference <- m2 - m1
}
"""
"""recurrentnull 2015: one gamma prior centred on the pooled mean for both means (its width was not printed: sd = mean),
Uniform(0, 100) on both standard deviations."""


def is_here() -> bool:
    return shutil.which("jags") is not None


def run(
    folder: Path,
    model: str,
    data: Mapping[str, float | Sequence[float] | Array],
    monitored: Sequence[str],
    *,
    inits: Mapping[str, float] | None = None,
    chains: int = 2,
    adapt: int = 1000,
    draws: int = 3000,
    thin: int = 1,
    timeout_seconds: float = 280.0,
) -> dict[str, Chains]:
    (folder / "model.txt").write_text(model)
    (folder / "data.txt").write_text("".join(f"{name} <- {_r(value)}\n" for name, value in data.items()))
    lines = ['model in "model.txt"', 'data in "data.txt"', f"compile, nchains({chains})"]
    for chain in range(1, chains + 1):
        # A chain's numbers start elsewhere; so does its state, a little.
        start = {name: value * (1.0 + 0.05 * (chain - 1)) for name, value in (inits or {}).items()}
        text = "".join(f"{name} <- {value!r}\n" for name, value in start.items())
        text += f'.RNG.name <- "base::Mersenne-Twister"\n.RNG.seed <- {100 + chain}\n'
        (folder / f"inits{chain}.txt").write_text(text)
        lines.append(f'parameters in "inits{chain}.txt", chain({chain})')
    lines += ["initialize", f"update {adapt}", *(f"monitor {name}, thin({thin})" for name in monitored)]
    lines += [f"update {draws * thin}", 'coda *, stem("out")', "exit", ""]
    (folder / "script.cmd").write_text("\n".join(lines))
    began = time.monotonic()
    done = subprocess.run(
        ["jags", "script.cmd"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    seconds = time.monotonic() - began
    if not (folder / "outindex.txt").exists():
        raise AssertionError(f"JAGS wrote no chains:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return {name: Chains(found, seconds) for name, found in read_coda(folder, chains).items()}


def read_coda(folder: Path, chains: int, stem: str = "out") -> dict[str, Array]:
    """CODA's two-column chains by the lines that its index gives each quantity (the first is 1)."""
    columns = [np.loadtxt(folder / f"{stem}chain{chain}.txt", usecols=1, ndmin=1) for chain in range(1, chains + 1)]
    found = {}
    for line in (folder / f"{stem}index.txt").read_text().splitlines():
        name, first, last = line.split()
        found[name] = np.array([column[int(first) - 1 : int(last)] for column in columns])
    return found


def _r(value: float | Sequence[float] | Array) -> str:
    if isinstance(value, int | float):
        return repr(value)
    return f"c({', '.join(repr(float(x)) for x in value)})"
