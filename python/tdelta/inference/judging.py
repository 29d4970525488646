"""From trials to verdicts: the entrance of this package, for a session as for showing a stored run again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tdelta.inference.cautions import design_cautions, metric_cautions, stopping_cautions, twin_cautions
from tdelta.inference.contrasts import contrasts_of
from tdelta.inference.costs import panels, places
from tdelta.inference.decisions import worst
from tdelta.inference.fits import fit_metrics, fit_transactions
from tdelta.inference.posterior import posterior, prior_alone
from tdelta.inference.soundness import aa_check, noise_floors, with_unsound
from tdelta.inference.stopping import LEAST_WIDTH, target_width
from tdelta.inference.verdicts import metric_verdicts, primary_verdicts, transaction_verdicts
from tdelta.records import (
    Condition,
    Contrast,
    Decision,
    Estimate,
    Metric,
    NoiseFloor,
    RunSettings,
    Trial,
    Validity,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the trials say. ``decision`` is the worst of the primary verdicts, which come first in ``verdicts``."""

    decision: Decision
    verdicts: tuple[Verdict, ...]
    noise_floor: tuple[NoiseFloor, ...]
    validity: tuple[Validity, ...]
    cautions: tuple[str, ...]
    contrasts: tuple[Contrast, ...] = ()


def judge(trials: Iterable[Trial], settings: RunSettings, *, precision: float = LEAST_WIDTH) -> Judgement:
    """Judge every condition of a run, from whatever trials there are.

    Args:
        trials: finished trials in any order; those of incomplete blocks are left out, and counted in a caution.
        settings: the run's; ``metric`` is the primary one, ``rope`` or ``budget`` the limit.
        precision: the width of the 95 % HDI aimed at (a difference of ratios), or a tenth of the overhead if more;
            missing it is a caution.

    Returns:
        Verdicts, primary ones first: one a judged condition, even without a single complete block (then the posterior
        is the prior, and ``undecided``). Deterministic: the same trials give the same figures.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    found = panels(trials, settings)
    fits = fit_metrics(found, tuple(Metric), settings.luck)
    floors = noise_floors(fits[settings.metric], settings.metric, settings.rope)
    where = places(found)
    validity = tuple(aa_check(floor, settings, where) for floor in floors)
    primary = tuple(with_unsound(primary_verdicts(found, fits[settings.metric], settings), floors, validity))
    others = [metric for metric in Metric if metric is not settings.metric]
    secondary = tuple(v for metric in others for v in metric_verdicts(fits[metric], metric, settings.rope))
    by_type = tuple(transaction_verdicts(fit_transactions(found), settings.rope))
    return Judgement(
        decision=worst(verdict.decision for verdict in primary),
        verdicts=(*primary, *secondary, *by_type),
        noise_floor=floors,
        validity=validity,
        cautions=(
            *design_cautions(found, settings.luck(settings.metric)),
            *twin_cautions(found, floors, validity),
            *metric_cautions(found, fits),
            *stopping_cautions(primary, settings, precision),
        ),
        contrasts=tuple(
            contrast
            for metric in dict.fromkeys((settings.metric, Metric.RESPONSE_TIME, Metric.CPU_PER_OPERATION))
            for contrast in contrasts_of(fits[metric], metric, settings.rope)
        ),
    )


def look(
    trials: Iterable[Trial], settings: RunSettings, *, precision: float = LEAST_WIDTH
) -> tuple[tuple[Condition, Estimate, float], ...]:
    """The primary estimates so far and the widths aimed at, in the design's order; much cheaper than `judge`.

    Args:
        trials: finished trials in any order.
        settings: the run's.
        precision: the least width aimed at, a difference of ratios.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    fit = fit_metrics(panels(trials, settings), (settings.metric,), settings.luck)[settings.metric]
    known = {c.key: posterior(data).estimate(settings.rope) for _, c, data in fit.data() if c.role.is_judged}
    unknown = prior_alone().estimate(settings.rope)
    estimates = [(c, known.get(c.key, unknown)) for c in settings.conditions if c.role.is_judged]
    return tuple((c, estimate, target_width(estimate, precision)) for c, estimate in estimates)
