"""From trials to verdicts: models, posteriors, decisions, stopping. Deterministic, NumPy only.

Nothing is sampled but the 99th percentiles of tails, by a bootstrap that the run seeds.

`judge` is the entrance, `look` its cheap little sister for the ends of rounds, `enough` the rule that ends a run. The
models are explained, with their measured error rates, in ``docs/statistics.md``. Everything works on the log scale of
costs and speaks in ratios; the unit of evidence is the trial in its block, never the transaction.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.inference.decisions import decide, decide_gate, worst
    from tdelta.inference.judging import Judgement, gate_answered, judge, look
    from tdelta.inference.pictures import (
        Density,
        PairedRatios,
        complete_blocks,
        densities,
        in_complete_blocks,
        paired_ratios,
    )
    from tdelta.inference.serving import bottleneck, cache_cautions, server_measures
    from tdelta.inference.simulated import Held, held
    from tdelta.inference.stopping import (
        LEAST_WIDTH,
        enough,
        gate_decided,
        is_gate_look,
        precise_enough,
        target_width,
        width,
    )
else:
    from tdelta.lazily import found_in

    __getattr__ = found_in(
        __name__,
        decisions=("decide", "decide_gate", "worst"),
        judging=("Judgement", "gate_answered", "judge", "look"),
        pictures=("Density", "PairedRatios", "complete_blocks", "densities", "in_complete_blocks", "paired_ratios"),
        serving=("bottleneck", "cache_cautions", "server_measures"),
        simulated=("Held", "held"),
        stopping=("LEAST_WIDTH", "enough", "gate_decided", "is_gate_look", "precise_enough", "target_width", "width"),
    )

__all__ = [
    "LEAST_WIDTH",
    "Density",
    "Held",
    "Judgement",
    "PairedRatios",
    "bottleneck",
    "cache_cautions",
    "complete_blocks",
    "decide",
    "decide_gate",
    "densities",
    "enough",
    "gate_answered",
    "gate_decided",
    "held",
    "in_complete_blocks",
    "is_gate_look",
    "judge",
    "look",
    "paired_ratios",
    "precise_enough",
    "server_measures",
    "target_width",
    "width",
    "worst",
]
