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
    from tdelta.inference.decisions import decide, decide_gate
    from tdelta.inference.fits import in_complete_blocks, paired_ratios
    from tdelta.inference.run_analysis import described_ratios, typical_ratios
    from tdelta.inference.tails import tail_cautions, tail_measures
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(
        __name__,
        agents=("load_agents",),
        between=("difference",),
        cost_breakdown=("cost_breakdowns",),
        decisions=("decide", "decide_gate"),
        fits=("in_complete_blocks", "paired_ratios"),
        run_analysis=("described_ratios", "typical_ratios"),
        tails=("tail_cautions", "tail_measures"),
    )
