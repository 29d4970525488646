"""From trials to verdicts: models, posteriors, decisions, stopping. Deterministic, NumPy only.

Nothing is sampled but the 99th percentiles of tails, by a bootstrap that the run seeds.

`analyze_run` is the entrance, `interim_estimates` its cheap counterpart at the ends of rounds, `should_stop` the rule
that ends a run. ``docs/statistics.md`` has the models, ``docs/validation.md`` their error rates. Everything works on
the log scale of costs and speaks in ratios; the unit of evidence is the trial in its block, never the transaction.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.inference.agents import load_agents
    from tdelta.inference.between import difference
    from tdelta.inference.cost_breakdown import cost_breakdowns
    from tdelta.inference.decisions import decide, decide_gate, most_severe
    from tdelta.inference.described import described_ratios, typical_ratios
    from tdelta.inference.pictures import PairedRatios, complete_blocks, in_complete_blocks, paired_ratios
    from tdelta.inference.run_analysis import Judgement, analyze_run, gate_answered, interim_estimates
    from tdelta.inference.simulated import Held, held
    from tdelta.inference.stopping import (
        LEAST_WIDTH,
        gate_decided,
        is_gate_look,
        precise_enough,
        should_stop,
        target_width,
        width,
    )
    from tdelta.inference.tails import tail_cautions, tail_measures
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(
        __name__,
        agents=("load_agents",),
        between=("difference",),
        cost_breakdown=("cost_breakdowns",),
        decisions=("decide", "decide_gate", "most_severe"),
        described=("described_ratios", "typical_ratios"),
        tails=("tail_cautions", "tail_measures"),
        run_analysis=("Judgement", "gate_answered", "analyze_run", "interim_estimates"),
        pictures=("PairedRatios", "complete_blocks", "in_complete_blocks", "paired_ratios"),
        simulated=("Held", "held"),
        stopping=(
            "LEAST_WIDTH",
            "should_stop",
            "gate_decided",
            "is_gate_look",
            "precise_enough",
            "target_width",
            "width",
        ),
    )
