import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from support.refused import Part, has
from tdelta.inference.instrument.calibration import pooled_noise
from tdelta.inference.instrument.measured import MeasuredRun, strata_of
from tdelta.inference.noise import InstanceMeans
from tdelta.inference.posterior import posterior
from tdelta.inference.rounds import (
    BETWEEN_SITTINGS,
    INSTANCE_SD_SCALE,
    VAGUE_SHARE,
    RoundsFit,
    fit_rounds,
    log_instance_sd_density,
)
from tdelta.inference.run_analysis import analyze_run
from tdelta.records import CalibrationUsed, InstanceEffectPrior, Metric, Role, RunSettings

from .builders import AA, BASELINE, condition, noisy, run, settings, stage_1

TAU = np.geomspace(1e-5, 50.0, 8000)
KNOWN = InstanceEffectPrior(0.004, 0.4, 0.2)
IDENTICAL = condition("none", Role.IDENTICAL)
INJECTED = condition("none", Role.INJECTED, injected=0.05)
SERIES = (BASELINE, AA, IDENTICAL, INJECTED)


def density_of_tau(instance_effect: InstanceEffectPrior | None) -> np.ndarray:
    """Normalised density of tau_i itself on `TAU`."""
    density = np.exp(log_instance_sd_density(TAU, INSTANCE_SD_SCALE, instance_effect)) / TAU
    return np.asarray(density / np.trapezoid(density, TAU))


def calibrated(instance_effect: InstanceEffectPrior) -> CalibrationUsed:
    return CalibrationUsed("cal-1", 0.0, 14, 0.005, {Metric.RESPONSE_TIME.value: instance_effect}, ())


def settings_with(instance_effect: InstanceEffectPrior | None) -> RunSettings:
    return replace(settings(), calibration=None if instance_effect is None else calibrated(instance_effect))


def test_without_a_calibration_the_prior_is_half_cauchy() -> None:
    expected = stats.halfcauchy.pdf(TAU, scale=INSTANCE_SD_SCALE)
    assert density_of_tau(None) == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_calibrated_prior_is_the_mixture_that_is_documented(share: float) -> None:
    lognormal = stats.lognorm.pdf(TAU, KNOWN.log_sd, scale=KNOWN.median)
    expected = (1.0 - share) * lognormal + share * stats.halfcauchy.pdf(TAU, scale=INSTANCE_SD_SCALE)
    assert density_of_tau(replace(KNOWN, vague_share=share)) == pytest.approx(expected, rel=5e-3, abs=1e-3)


def test_the_prior_of_later_runs_has_the_moments_of_the_posterior_widened() -> None:
    weights = stats.norm.pdf(np.log(TAU), math.log(0.005), 0.4)
    found = RoundsFit((), TAU, weights / weights.sum()).later_prior
    assert found.median == pytest.approx(0.005, rel=1e-3)
    assert found.log_sd == pytest.approx(math.hypot(0.4, BETWEEN_SITTINGS), rel=1e-3)
    assert found.vague_share == VAGUE_SHARE


def few_rounds(instance_sd: float) -> InstanceMeans:
    """One round whose blocks leave hardly any noise: only the prior knows of luck."""
    means = np.array([[0.0, 0.0, instance_sd]])
    return stage_1(means - means.mean(), np.array([1000.0]), 1e-4, 4000.0)


def test_what_is_known_of_instance_effects_decides_how_wide_a_single_round_is() -> None:
    def width(instance_effect: InstanceEffectPrior | None) -> float:
        fit = fit_rounds([few_rounds(0.0)], [np.array([0, 0, 1])], instance_effect=instance_effect)
        low, high = posterior(fit.strata[0].mixture(0)).ratio_hdi(0.95)
        return high - low

    quiet, lucky = InstanceEffectPrior(0.001, 0.3, 0.0), InstanceEffectPrior(0.02, 0.3, 0.0)
    assert width(quiet) < 0.5 * width(None) < width(lucky)


def test_data_overrule_a_calibration_that_was_far_too_quiet() -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(0.0, 0.02, (12, 3))
    means -= means.mean(axis=1, keepdims=True)
    seen = stage_1(means, np.full(12, 6.0), 1e-6, 100.0)
    fit = fit_rounds([seen], [np.array([0, 0, 1])], instance_effect=InstanceEffectPrior(0.001, 0.4, 0.2))
    assert 0.013 < fit.instance_sd < 0.03


def test_the_instance_effects_and_noise_of_a_series_are_found_again() -> None:
    runs = [
        MeasuredRun(settings(SERIES), run(noisy(0.0, 0.02, seed=seed, instance_effect=0.008), SERIES, rounds=3), 0.0)
        for seed in range(20)
    ]
    strata = [stratum for one in runs for stratum in strata_of(one, Metric.RESPONSE_TIME)]
    found = pooled_noise(strata, Metric.RESPONSE_TIME)
    record = found.record()
    assert record.instances == 20 * 3 * 4
    assert record.trial_sd == pytest.approx(0.02, rel=0.15)
    assert record.pair_sd == pytest.approx(math.sqrt(2.0) * record.trial_sd)
    assert record.instance_sd_interval[0] < 0.008 < record.instance_sd_interval[1]
    assert record.instance_sd == pytest.approx(0.008, rel=0.35)


def test_a_metric_without_a_ratio_has_no_strata() -> None:
    measured = MeasuredRun(settings(SERIES), run(noisy(0.0), SERIES), 0.0)
    assert strata_of(measured, Metric.READ_BYTES_PER_OPERATION) == []


def test_a_run_is_judged_with_what_its_settings_know_of_luck() -> None:
    trials = run(noisy(0.03, 0.002, instance_effect=0.001), rounds=2)

    def width(instance_effect: InstanceEffectPrior | None) -> float:
        low, high = analyze_run(trials, settings_with(instance_effect)).verdicts[0].ratio.hdi95
        return high - low

    assert width(InstanceEffectPrior(0.001, 0.3, 0.2)) < 0.8 * width(None)
    assert analyze_run(trials, settings_with(KNOWN)) == analyze_run(trials, settings_with(KNOWN))


def test_a_calibration_of_another_metric_leaves_this_one_alone() -> None:
    trials = run(noisy(0.03, 0.01, instance_effect=0.002), rounds=3)
    plain, known = (
        analyze_run(trials, settings_with(instance_effect)).verdicts
        for instance_effect in (None, InstanceEffectPrior(0.001, 0.3, 0.0))
    )
    of_cpu = [[v for v in found if v.metric is Metric.CPU_PER_OPERATION] for found in (plain, known)]
    assert of_cpu[0] == of_cpu[1]
    assert plain[0].ratio != known[0].ratio


def test_instance_effects_far_beyond_what_was_calibrated_is_a_caution_with_its_remedy() -> None:
    trials = run(noisy(0.03, 0.002, instance_effect=0.02), rounds=6)
    cautions = analyze_run(trials, settings_with(InstanceEffectPrior(0.002, 0.3, 0.2))).cautions
    assert has(cautions, "large-instance-effect", expected=0.002)


def test_a_single_round_names_the_prior_that_widens_its_intervals() -> None:
    trials = run(noisy(0.03), rounds=1)
    assert has(analyze_run(trials, settings_with(KNOWN)).cautions, "one-round", fewest=3, prior="calibrated, 0.4%")
    assert has(analyze_run(trials, settings_with(None)).cautions, "one-round", fewest=3, prior=Part("half-Cauchy"))
