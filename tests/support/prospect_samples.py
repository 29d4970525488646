import math
from dataclasses import replace

from tdelta.messages import Caution, Reason
from tdelta.records import Decision, Metric
from tdelta.records.instrument import (
    Advice,
    Attainability,
    CarryOver,
    Grounds,
    InstanceEffect,
    Layout,
    NoiseAtLength,
    Point,
    Prospect,
    ScaleNoise,
    ShareEffect,
    Target,
    TimeCosts,
    Width,
)
from tdelta.session.request import RunRequest

ROUNDS = (3, 4, 5, 6, 8, 11, 15, 20, 27, 36, 48, 64, 96, 128)
EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.10)
LAYOUT = Layout(3, 3, 2, 0.25, 6, set_up_seconds=9.4, round_seconds=2.1, block_seconds=0.84)
TIMES = TimeCosts(set_up_seconds=9.4, round_seconds=2.1, switch_seconds=0.021, stretch=1.04)
SCALES = (
    ScaleNoise(1, 0.0221, 1.0, (1.0, 1.0)),
    ScaleNoise(2, 0.0163, 1.09, (0.81, 1.47)),
    ScaleNoise(3, 0.0131, 1.05, (0.7, 1.58)),
)


def _target(effect: float, tolerance: float, assurance: float = 0.8) -> Target:
    if effect == tolerance:
        curve = tuple(Point(r, LAYOUT.seconds(r), 0.0, 0.05) for r in ROUNDS)
        return Target(effect, tolerance, None, Attainability.EDGE, None, None, Reason.of("effect-on-edge"), curve)
    distance = abs(effect - tolerance)
    chances = [1.0 / (1.0 + math.exp(-4.0 * (math.sqrt(r) * distance / 0.02 - 1.2))) for r in ROUNDS]
    curve = tuple(Point(r, LAYOUT.seconds(r), p, 0.0) for r, p in zip(ROUNDS, chances, strict=True))
    decision = Decision.SLOWER if effect > tolerance else Decision.NEGLIGIBLE
    reached = [r for r, p in zip(ROUNDS, chances, strict=True) if p >= assurance]
    if not reached:
        words = Reason.of("decided-too-seldom", rounds=128, share=chances[-1])
        return Target(effect, tolerance, decision, Attainability.TOO_LONG, None, None, words, curve)
    return Target(
        effect, tolerance, decision, Attainability.REACHED, reached[0], LAYOUT.seconds(reached[0]), None, curve
    )


def _length(run_id: str, seconds: float, sd: float, time_for_same: float) -> NoiseAtLength:
    return NoiseAtLength(
        run_id, "", seconds, 0.021 + 1.04 * seconds, 9, 54, 48.27, sd, (0.91 * sd, 1.1 * sd), time_for_same, SCALES
    )


def whole() -> Prospect:
    targets = tuple(_target(effect, tolerance) for tolerance in (0.005, 0.01, 0.02) for effect in EFFECTS)
    headline = tuple(target for target in targets if target.tolerance == 0.01 and target.effect in (0.0, 0.02))
    rounds = max(target.rounds or 0 for target in headline)
    request = RunRequest(min_rounds=rounds, max_rounds=rounds, max_seconds=120.0, tolerance=0.01)
    return Prospect(
        engine="sqlite",
        workload="order-entry",
        metric=Metric.RESPONSE_TIME,
        run_ids=("20261122-abcd", "20261122-efgh", "20261122-jklm"),
        pilot_seconds=119.2,
        assurance=0.8,
        max_seconds=None,
        grounds=Grounds(
            lengths=(
                _length("20261122-abcd", 0.251, 0.0221, 1.0),
                _length("20261122-efgh", 0.502, 0.0189, 1.41),
                _length("20261122-jklm", 1.003, 0.0171, 2.23),
            ),
            instance_effect=InstanceEffect(0.0041, (0.0006, 0.0103), 81),
            carry_over=CarryOver(
                None,
                (Reason.of("carry-over-only-plain"), Reason.of("carry-over-course")),
            ),
            times=TIMES,
        ),
        layout=LAYOUT,
        advice=Advice(0.25, 1.0, "none of the lengths tried is clearly better", 6, 1.0, "no other is clearly better"),
        widths=tuple(
            Width(r, LAYOUT.seconds(r), 0.06 / math.sqrt(r), (0.05 / math.sqrt(r), 0.07 / math.sqrt(r)), 0.31)
            for r in ROUNDS
        ),
        targets=targets,
        primary_targets=headline,
        advised_rounds=rounds,
        simulated=240,
        cautions=(Caution.of("only-plain-measured"),),
        options=request.to_json(),
    )


def stored() -> Prospect:
    """From one stored run with encryption, of one length, an overhead and two tolerances asked for."""
    targets = tuple(_target(0.03, tolerance) for tolerance in (0.01, 0.02))
    carried = CarryOver(
        ShareEffect(0.012, (0.004, 0.02)),
        (Reason.of("carry-over-to-itself"), Reason.of("carry-over-course")),
    )
    one = replace(whole().grounds.lengths[0], scales=(), where="threads 4")
    return replace(
        whole(),
        run_ids=("20261122-abcd",),
        pilot_seconds=None,
        grounds=replace(whole().grounds, lengths=(one,), carry_over=carried),
        targets=targets,
        primary_targets=targets,
        advice=Advice(None, 1.0, "trials of 0.25 s were the only ones", 12, 0.71, "takes 0.71 times as long"),
    )


def hopeless() -> Prospect:
    """On the edge, and too near it."""
    targets = (
        _target(0.02, 0.02),
        replace(
            _target(0.021, 0.02),
            attainability=Attainability.TOO_LONG,
            rounds=None,
            seconds=None,
            reason=Reason.verbatim("no"),
        ),
    )
    return replace(
        whole(),
        targets=targets,
        primary_targets=targets,
        advised_rounds=None,
        options={},
        max_seconds=600.0,
        cautions=(),
    )


def one_round() -> Prospect:
    """A limit that holds a single round: a curve of one point."""
    words = "after 3 rounds 4 % of the runs would have decided"
    targets = tuple(
        replace(
            target,
            curve=target.curve[:1],
            attainability=Attainability.TOO_LONG,
            rounds=None,
            seconds=None,
            reason=Reason.verbatim(words),
        )
        for target in whole().targets
    )
    return replace(
        whole(),
        targets=targets,
        primary_targets=targets[:1],
        widths=whole().widths[:1],
        advised_rounds=None,
        options={},
    )


PROSPECTS = {"whole": whole, "stored": stored, "hopeless": hopeless, "one_round": one_round}
