import numpy as np
import pytest

from tdelta.inference.balanced import BalancedRuns, first_ratios
from tdelta.inference.rounds import COARSE, Nodes, fit_rounds
from tdelta.records import InstanceEffectPrior

from .builders import stage_1

LAYOUTS = {
    "one condition": [0, 0, 1],
    "its B/B twin, too": [0, 0, 1, 1],
    "several conditions": [0, 0, 1, 2, 3, 1],
    "no A/A twin": [0, 1],
}


@pytest.mark.parametrize("thetas", LAYOUTS.values(), ids=LAYOUTS.keys())
@pytest.mark.parametrize("rounds", [1, 2, 9])
@pytest.mark.parametrize("blocks", [1, 5])
@pytest.mark.parametrize("instance_effect", [None, InstanceEffectPrior(0.004, 0.3, 0.2)])
def test_the_closed_form_is_the_grid_of_stage_2(
    thetas: list[int], rounds: int, blocks: int, instance_effect: InstanceEffectPrior | None
) -> None:
    rng = np.random.default_rng(rounds)
    which = np.array(thetas)
    kinds = np.minimum(which, 1)
    means = rng.normal(0.0, 0.02, (3, rounds, len(which))) + 0.05 * which
    variance = rng.uniform(1e-5, 1e-3, (3, 2)) if blocks > 1 else np.zeros((3, 2))
    df = 14.0 * rounds if blocks > 1 else 0.0
    runs = BalancedRuns(means, which, blocks, variance, (df / 2.0, df / 2.0))
    for run, found in enumerate(first_ratios(runs, instance_effect, COARSE)):
        seen = stage_1(means[run], np.full(rounds, float(blocks)), 0.0, df, kinds)
        seen.variance[:] = variance[run]
        expected = fit_rounds([seen], [which], instance_effect, nodes=COARSE).strata[0].mixture(0)
        for name in ("weights", "means", "sds"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-12)


def test_the_nodes_of_plans_are_fine_enough() -> None:
    """A coarser grid than a verdict's moves the spread of the data's answer by under 3 %."""
    rng = np.random.default_rng(5)
    which = np.array([0, 0, 1])
    runs = BalancedRuns(rng.normal(0.0, 0.01, (20, 6, 3)), which, 6, rng.uniform(1e-4, 4e-4, (20, 2)), (40.0, 20.0))
    for coarse, fine in zip(first_ratios(runs, None, COARSE), first_ratios(runs, None, Nodes(80, 9, 7)), strict=True):
        assert coarse.mean == pytest.approx(fine.mean, abs=1e-12)
        assert coarse.variance**0.5 == pytest.approx(fine.variance**0.5, rel=0.03)
