"""The English of what calibrations, plans and cipher costs say of the instrument and of the machine, by code."""

_WAITED = "waited for a CPU during {share:.0f%} of the trials' time: on a quieter machine less would do"

INSTRUMENT_REASONS = {
    # why a calibration finds the instrument invalid
    "check-failed-in-runs": "{failed} of {runs} runs failed the check “{check}” ({detail})",
    "false-calls": (
        "{count} of {of} identical twins were called slower, faster or invalid (95% interval of that share"
        " {interval}), though nothing differs"
    ),
    "zero-not-held": "only {held} of {of} intervals of 95% held 0 where nothing differs",
    "cost-not-held": "only {held} of {of} intervals of 95% held the actual cost",
    "bias-beyond-tolerance": (
        "reads {bias:+.1f} points beside the truth (95% interval {interval}), more than the {tolerance:g%} that are"
        " not cared about"
    ),
    # why a plan does not reach an aim
    "effect-on-edge": (
        "a true overhead on the tolerance's edge cannot be distinguished from the tolerance, however long one measures"
    ),
    "hardly-decided": "after {rounds} rounds hardly any of the runs would have decided",
    "decided-too-seldom": "after {rounds} rounds {share:.0f%} of the runs would have decided",
}

INSTRUMENT_CAUTIONS = {
    # calibrations
    "few-calibration-runs": (
        "{runs} {runs:run|runs}: even without a false call, up to {false:.0f%} may be called wrongly; more time"
        " (--max-time) narrows that"
    ),
    "reads-too-much": ("reads {points:.1f} points too much (95% interval {interval}): overheads here carry that, too"),
    "reads-too-little": (
        "reads {points:.1f} points too little (95% interval {interval}): overheads here carry that, too"
    ),
    "injected-is-no-truth": (
        "threads wait for each other, so the injected cost is not the truth for response time; it is shown, and nothing"
        " is held against it"
    ),
    "calibration-interrupted": "the calibration was interrupted: this is what was known by then",
    "calibration-runs-short": "{short} of {runs} runs had fewer than {rounds} rounds: give --max-time more",
    # the cost of ciphers
    "instructions-not-hidden": (
        "the AES instructions could not be hidden from OpenSSL: without them AES-256-CBC decryption took {times:.2f}"
        " times as long, expected at least {least}; figures without them are left out ({why})"
    ),
    "machine-busy": (
        "for {share:.0f%} of the time some program waited for a CPU: other work disturbs the caches; measure again on"
        " an idle machine for a firm figure"
    ),
    # plans
    "pilot-check-failed": "pilot {run}: {check}: no, {detail}",
    "pilot-trials-too-long": "the pilot's time held too few blocks of trials of {seconds} s to learn from",
    "only-plain-measured": (
        "only plain twins were measured: encrypted ones are assumed to be as noisy, to vary as much between instances,"
        " and to be as fast; where they take"
        " longer, so does the run"
    ),
    "chances-of-each": (
        "the chances are of each of the {conditions} judged conditions; that all are decided is less likely"
    ),
    "noisiest-planned": "planned for the noisiest conditions: {conditions}",
    "few-instances": (
        "{instances} instances say little about instance effects: the prior (half-Cauchy, 1%) contributes, and the"
        " plan errs on the side of a long run"
    ),
    "slow-noise": (
        "noise averages out more slowly than that of independent trials (over {blocks} blocks its variance is"
        " {excess:.1f} times theirs): the plan is too hopeful"
    ),
    "time-holds-few-rounds": (
        "the time holds {rounds} of the {fewest} rounds that are needed to see the instance effect"
    ),
    "pilot-threads-waited": f"threads, the server's own or other programs', {_WAITED}",
    "pilot-others-waited": f"other programs {_WAITED}",
}
