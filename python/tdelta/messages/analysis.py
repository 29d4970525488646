"""The English of reasons in comparisons of other tools' results, by code. Frequencies are simulated."""

ANALYSIS_REASONS = {
    # the data
    "one-run-only": "only one run of each configuration",
    "one-run-of-each": (
        "one run each, and runs of the same system often differ; if by 3% (standard deviation), {false_alarms} of 100"
        " identical pairs would look different ({drift_least} to {drift_most} with drift)"
    ),
    "no-replication": "no replication: {why}",
    "heavy-tailed": (
        "heavy-tailed values in unknown order: if slow values come in bursts, the interval is too narrow (simulated:"
        " {false_alarms} of 100 identical pairs looked different)"
    ),
    "clock-too-coarse": "coarse clock: {zeros:.2g%} of the times are 0; means may be off by {off:.2g%} (included)",
    "clock-coarser-than-means": "coarse clock: {zeros:.2g%} of the response times are 0, and its tick is a mean long",
    "tests-differ": "not the same test: {settings}",
    # several runs
    "run-is-unit": "{runs} and {other} runs, each counted as one value",
    "order-known": "the order of the runs is known, so drift is part of the model",
    "order-unknown": (
        "unknown order of the runs: the interval allows for drift. Alternate the configurations and number the files"
        " (run1 plain, run2 tde, run3 plain, …)"
    ),
    "runs-of-one-file": "{runs} runs in one file: session-to-session variation is not included",
    "two-clusters": "runs form two clusters, {apart:.2g%} apart, which the configurations do not explain",
    "two-clusters-of-condition": "runs of {condition} form two clusters, {apart:.2g%} apart",
    "single-run-on-one-side": "one side has a single run; its variation is assumed to be the other side's",
    "few-runs": "{runs} runs in total: more runs narrow this interval",
    "confounded": "all runs of {first} came before those of {then}, and drift by {drift:+.2g}% per run; alternate them",
    # lengths
    "unequal-lengths": "runs of unequal length ({lengths}), without figures over time for the same part",
    "lengths-cut": "runs of unequal length ({lengths}): the first {shortest} of each are compared",
    # priors
    "drift-taken-out": "the overhead is corrected for drift and differs from the ratio of the values shown",
    "prior-draws": "the overhead is drawn towards 0 by the prior, unlike the ratio of the values shown",
    "prior-left-out": "omitted: only for single runs of response times with a spread",
    # tails: also of tdelta's own trials
    "tail-none": "none on {sides}, so at most {bound:.1%} of such blocks have any (95% sure)",
    "tail-one-round": "no interval: one round cannot separate copy-to-copy variation from the configuration",
    "tail-too-few": "too few for an interval: {found} on the rarer side, at least {fewest} needed",
    "tail-too-few-runs": "no interval with {runs} of a configuration: at least {fewest} of each needed",
    "tail-without-ratio": "no ratio: {names} {conditions:has|have} none that certainly took longer",
    "percentile-few-rounds": "no interval with fewer than {fewest} rounds, which do not show copy-to-copy variation",
    "percentile-without-end": "no ratio: the 99th percentile is in an open-ended bin",
    "no-percentile": "no percentile: {needed:,} response times needed, {found}",
    "not-single-transactions": "no tail: {metric} is not the response time of single transactions",
    "no-single-times": "no tail: {names} {conditions:has|have} {found}, no single response times and no histogram",
}

ANALYSIS_AGAINST_TRUST = (
    "tests-differ",
    "clock-coarser-than-means",
    "clock-too-coarse",
    "confounded",
    "two-clusters",
    "two-clusters-of-condition",
    "runs-of-one-file",
    "unequal-lengths",
    "heavy-tailed",
    "few-runs",
)
"""Reasons that speak against trusting an answer, worst first."""
