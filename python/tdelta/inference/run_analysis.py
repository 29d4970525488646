"""From trials to verdicts: the entrance of this package, for a session as for showing a stored run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tdelta.inference.cautions import design_cautions, metric_cautions, stopping_cautions, twin_cautions
from tdelta.inference.contrasts import contrasts_of
from tdelta.inference.costs import panels, places
from tdelta.inference.decisions import most_severe
from tdelta.inference.fits import CostFit, fit_metrics, fit_transactions
from tdelta.inference.hosts import host_cautions, hosts_of
from tdelta.inference.planning.carryover import carry_over
from tdelta.inference.planning.runs import MeasuredRun, strata_of
from tdelta.inference.posterior import prior_alone
from tdelta.inference.scatter import stall_measures
from tdelta.inference.soundness import alike_checks, noise_floors, with_unsound
from tdelta.inference.stopping import LEAST_WIDTH, target_width
from tdelta.inference.verdicts import (
    decisions_of,
    metric_verdicts,
    primary_verdicts,
    transaction_verdicts,
    with_single_rounds,
)
from tdelta.messages import Caution
from tdelta.records import (
    Condition,
    Contrast,
    Decision,
    Estimate,
    Hosts,
    Metric,
    NoiseFloor,
    RunSettings,
    StallMeasure,
    Trial,
    Validity,
    Verdict,
)
from tdelta.records.carryover import CarryOver


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the trials say. ``decision`` is the worst of the primary verdicts, which come first in ``verdicts``.

    ``by_cpu`` is what CPU time per operation would decide as the primary metric, by the conditions' keys.
    """

    decision: Decision
    verdicts: tuple[Verdict, ...]
    noise_floor: tuple[NoiseFloor, ...]
    validity: tuple[Validity, ...]
    cautions: tuple[Caution, ...]
    contrasts: tuple[Contrast, ...] = ()
    stalls: tuple[StallMeasure, ...] = ()
    order_effect: CarryOver | None = None
    by_cpu: Mapping[str, Decision] = field(default_factory=dict)
    hosts: Hosts | None = None


def analyze_run(trials: Iterable[Trial], settings: RunSettings, *, precision: float = LEAST_WIDTH) -> Judgement:
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
    trials = tuple(trials)
    found = panels(trials, settings)
    fits = fit_metrics(found, _metrics(settings), settings.instance_effect)
    deciding = fits[settings.metric]
    floors = noise_floors(deciding, settings)
    where = places(found)
    judged = tuple(primary_verdicts(found, deciding, settings))
    validity = alike_checks(floors, judged, settings, where)
    primary = tuple(with_single_rounds(with_unsound(judged, floors, validity), deciding, settings))
    others = [metric for metric in fits if metric is not settings.metric]
    secondary = tuple(v for metric in others for v in metric_verdicts(fits[metric], metric, settings.rope))
    hosts = hosts_of(deciding, settings.rope)
    by_type = tuple(transaction_verdicts(fit_transactions(found), settings.rope))
    return Judgement(
        decision=most_severe(verdict.decision for verdict in primary),
        verdicts=(*primary, *secondary, *by_type),
        noise_floor=floors,
        validity=validity,
        cautions=(
            *design_cautions(found, settings.instance_effect(settings.metric)),
            *twin_cautions(found, floors, validity),
            *metric_cautions(found, fits),
            *host_cautions(hosts),
            *stopping_cautions(primary, settings, precision),
        ),
        contrasts=tuple(
            contrast
            for metric in dict.fromkeys((settings.metric, Metric.RESPONSE_TIME, Metric.CPU_PER_OPERATION))
            for contrast in contrasts_of(fits[metric], metric, settings.rope)
        ),
        stalls=tuple(stall_measures(deciding)),
        order_effect=_order_effect(deciding, trials, settings),
        by_cpu=decisions_of(fits[Metric.CPU_PER_OPERATION], settings),
        hosts=hosts,
    )


def _order_effect(fit: CostFit, trials: Sequence[Trial], settings: RunSettings) -> CarryOver | None:
    """What the place in a block and the twin before do, as `tdelta plan` estimates it; None without comparisons."""
    strata = strata_of(MeasuredRun(settings, tuple(trials), 0.0), fit)
    return carry_over(strata) if strata and all(one.means.pooled_df > 0 for one in strata) else None


def _metrics(settings: RunSettings) -> tuple[Metric, ...]:
    """The metrics that are judged. Operations that fall due at a rate leave no time to be counted with a checkpoint."""
    is_open = any(settings.options.get(name) is not None for name in ("rate", "at"))
    is_open = is_open or any("at" in dict(c.levels) for c in settings.conditions)
    left_out = (Metric.TIME_WITH_CHECKPOINT,) if is_open and settings.metric is not Metric.TIME_WITH_CHECKPOINT else ()
    return tuple(metric for metric in Metric if metric not in left_out)


def gate_answered(trials: Iterable[Trial], settings: RunSettings) -> bool:
    """Whether primary verdicts answer the budget: all are within it, or one is over it, which no other can mend.

    `interim_estimates` knows the intervals alone; what stalls leave open is known to the verdicts.
    """
    found = panels(trials, settings)
    fit = fit_metrics(found, (settings.metric,), settings.instance_effect)[settings.metric]
    decisions = [verdict.decision for verdict in primary_verdicts(found, fit, settings)]
    return Decision.OVER in decisions or all(d is Decision.WITHIN for d in decisions)


def interim_estimates(
    trials: Iterable[Trial], settings: RunSettings, *, precision: float = LEAST_WIDTH
) -> tuple[tuple[Condition, Estimate, float], ...]:
    """The primary estimates so far and the widths aimed at, in the design's order; much cheaper than `analyze_run`.

    Args:
        trials: finished trials in any order.
        settings: the run's.
        precision: the least width aimed at, a difference of ratios.

    Raises:
        TdeltaError: if a stratum has not exactly one baseline.
    """
    fit = fit_metrics(panels(trials, settings), (settings.metric,), settings.instance_effect)[settings.metric]
    known = {a.condition.key: a.posterior.estimate(settings.rope) for a in fit.answers() if a.condition.role.is_judged}
    unknown = prior_alone().estimate(settings.rope)
    estimates = [(c, known.get(c.key, unknown)) for c in settings.conditions if c.role.is_judged]
    return tuple((c, estimate, target_width(estimate, precision)) for c, estimate in estimates)
