"""The English of why a comparison of other tools' results is what it is, by code. Figures are simulated ones."""

ANALYSIS_REASONS = {
    # where the interval lies
    "interval-above": "the 95% interval {interval} lies above the ±{tolerance:g%}",
    "interval-below": "the 95% interval {interval} lies below the ±{tolerance:g%}",
    "interval-within": "the 95% interval {interval} lies within the ±{tolerance:g%}",
    "interval-across": "the 95% interval {interval} reaches over an edge of the ±{tolerance:g%}",
    # what figures can bear
    "one-run-only": "one run per condition",
    "one-run-of-each": (
        "one run per condition: runs of one and the same system differ, and nothing in these files says by how much;"
        " simulated, where they differ by 3%, {false_alarms} of 100 pairs of identical systems have an interval that"
        " leaves out 0, where the machine drifts {drift_least} to {drift_most} (5 are nominal)"
    ),
    "no-replication": (
        "no replication: one figure per condition, and nothing that says how far another run would be from it"
    ),
    "mean-without-sd": "no replication: a mean without its standard deviation, and a single run",
    "mean-not-known": "no replication: a side's own figures do not tell how far its mean is known",
    "heavy-tailed": (
        "heavy-tailed values whose order is not known: if what is slow came in clumps, their interval is far too narrow"
        " (simulated, with stalls in clumps of 50 it leaves out 0 for {false_alarms} of 100 identical pairs)"
    ),
    "clock-too-coarse": (
        "a clock too coarse: {zeros:.2g%} of the response times are 0, and its steps leave the means open by up to"
        " {off:.2g%}; that is in the interval"
    ),
    "clock-coarser-than-means": (
        "a clock too coarse: {zeros:.2g%} of the response times are 0, and one of its steps is as large as a mean"
    ),
    "tests-differ": "the conditions were not given the same test, as their files say: {settings}",
    # several runs
    "run-is-unit": "{runs} and {other} runs: the run is the unit",
    "order-known": "the order of the runs is known: a drift from run to run is part of the model",
    "order-unknown": (
        "the order of the runs is not known: the interval allows for all runs of one condition to have come first, and"
        " for a drift over the session. It is narrower where conditions take turns and the files say so: by when runs"
        " began, or by one count through both conditions (run1 plain, run2 tde, run3 plain, …)"
    ),
    "runs-of-one-file": (
        "up to {runs} runs in one file are taken as runs: what differs from one session to the next is not in them"
    ),
    "two-clusters": (
        "runs form two clusters, {apart:.2g%} apart, and the conditions are not what tells them apart: something else"
        " changed between runs"
    ),
    "two-clusters-of-condition": (
        "runs of {condition} form two clusters, {apart:.2g%} apart: something changed between runs of one condition"
    ),
    "single-run-on-one-side": "one side has a single run: it is taken to scatter as the other side's do",
    "few-runs": "{runs} runs in all: more runs narrow this interval, longer ones hardly do",
    "confounded": (
        "all runs of {first} came before those of {then}, and the figures drift by {drift:+.2g}% from one run to the"
        " next: drift and condition cannot be separated; alternate the conditions from run to run"
    ),
    # lengths
    "unequal-lengths": (
        "unequal lengths: {lengths}; what a load does in its first minutes is not what it does later, and without"
        " figures over time the same part cannot be compared"
    ),
    "lengths-cut": "unequal lengths: {lengths}; the first {shortest} of every run are compared",
    # priors
    "drift-taken-out": (
        "the overhead is not the quotient of the values shown: the drift from run to run is taken out of it"
    ),
    "prior-draws": (
        "the overhead is not the quotient of the values shown: the prior draws an interval this wide towards 0"
    ),
    "prior-left-out": "only for single runs of response times with a spread; left out here",
    # tails: of a run's own trials as well
    "tail-none": "none on {sides}, so at most {bound:.1f%} of such blocks would have any (95% sure)",
    "tail-one-round": (
        "no interval: within one round nothing distinguishes the effects of its instances from the condition"
    ),
    "tail-too-few": (
        "too few for an interval: on the rarer side {found}, in {blocks} blocks, and it takes {fewest} in"
        " {fewest_blocks}"
    ),
    "tail-too-few-runs": (
        "no interval: {runs} of a condition cannot separate its instance effect from the condition; it takes"
        " {fewest} runs of each"
    ),
    "tail-without-ratio": "no ratio: {names} {conditions:has|have} none that surely took longer",
    "tail-too-few-values": "too few for an interval: {found} on the rarer side, and it takes {fewest}",
    "percentile-few-rounds": (
        "no interval with fewer than {fewest} rounds: they do not show how far instances differ by chance"
    ),
    "percentile-without-end": "no ratio: the 99th percentile lies in a bin without an end",
    "no-percentile": "no percentile: it takes {needed:,} response times, and {found}",
    "not-single-transactions": "no tail: {metric} is not the response time of single transactions",
    "no-single-times": (
        "no tail: {names} {conditions:has|have} {found}, neither single response times nor a histogram"
    ),
}

ANALYSIS_AGAINST_TRUST = {
    "tests-differ": "not the same test: {settings}",
    "clock-coarser-than-means": "a clock too coarse: {zeros:.2g%} of the response times are 0",
    "clock-too-coarse": "a clock too coarse: its steps leave the means open by up to {off:.2g%}",
    "confounded": (
        "all runs of {first} came before those of {then}, and figures drift by {drift:+.2g}% from run to run"
    ),
    "two-clusters": "runs form two clusters, {apart:.2g%} apart, which the conditions do not explain",
    "two-clusters-of-condition": "runs of {condition} form two clusters, {apart:.2g%} apart",
    "runs-of-one-file": "all runs of a condition are of one file, and so of one session",
    "unequal-lengths": "runs of unequal length ({lengths})",
    "heavy-tailed": "heavy-tailed values whose order is not known: the interval may be far too narrow",
    "few-runs": "{runs} runs in all",
}
"""Of reasons that speak against trusting an answer, in so few words that they can stand beside it; worst first."""
