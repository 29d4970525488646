"""The English of calibrations, plans and cipher costs about the instrument and the machine, by code."""

INSTRUMENT_REASONS = {
    # why a calibration fails
    "check-failed-in-runs": "{failed} of {runs} runs failed the check “{check}” ({detail})",
    "false-calls": "{count} of {of} identical copies were called slower, faster or invalid (95% interval {interval})",
    "zero-not-held": "only {held} of {of} 95% intervals of identical copies include 0",
    "cost-not-held": "only {held} of {of} 95% intervals include the actual cost",
    "bias-beyond-tolerance": "results are {bias:+.1f} points off ({interval}), beyond the tolerance of {tolerance:g%}",
    # why a plan does not reach its target
    "effect-on-edge": "an overhead at the edge of the tolerance stays undecided, however long the run",
    "decided-too-seldom": "after {rounds} rounds {share:.0%} of the runs would have decided",
}

INSTRUMENT_CAUTIONS = {
    # calibrations
    "few-calibration-runs": (
        "{runs} {runs:run|runs}: even with no false result, up to {false:.0%} may be false; increase --max-time"
    ),
    "bias": "results are {points:+.1f} points off (95% interval {interval})",
    "injected-is-no-truth": "threads wait for each other, so the injected cost is no exact reference for response time",
    "calibration-interrupted": "the calibration was interrupted; these are the results up to then",
    "calibration-runs-short": "{short} of {runs} runs had fewer than {rounds} rounds; increase --max-time",
    # the cost of ciphers
    "instructions-not-hidden": (
        "OpenSSL still used AES instructions: AES-256-CBC decryption took {times:.2f} times as long, expected {least}"
        " or more; figures without them are omitted ({why})"
    ),
    # plans
    "pilot-check-failed": "pilot {run}: {check}: no, {detail}",
    "pilot-trials-too-long": "too few blocks of {seconds} s trials in the pilot's time",
    "only-plain-measured": "only unencrypted copies were measured; encrypted ones are assumed to be alike",
    "chances-of-each": "chances are for each of the {conditions} configurations; all at once are less likely",
    "noisiest-planned": "planned for the noisiest configurations: {conditions}",
    "few-instances": "{instances} copies show little of their variation: the prior makes the plan longer",
    "slow-noise": "noise over {blocks} blocks has {excess:.1f} times the expected variance: the plan is optimistic",
    "time-holds-few-rounds": "the time allows {rounds} of the {fewest} rounds needed to measure copy-to-copy variation",
}
