_FARTHER = ", so the 99 % HDI would have to lie beyond ±{rope:g%}"
_HARDLY = "{rounds} {rounds:round hardly shows|rounds hardly show} how much fresh databases differ by chance"

REASONS = {
    # where the interval lies
    "hdi-above-rope": "the 95 % HDI {interval} lies above the ROPE, ±{rope:g%}",
    "hdi-below-rope": "the 95 % HDI {interval} lies below the ROPE, ±{rope:g%}",
    "hdi-within-rope": "the 95 % HDI {interval} lies within the ROPE, ±{rope:g%}",
    "hdi-across-rope": "the 95 % HDI {interval} reaches over an edge of the ROPE, ±{rope:g%}",
    "hdi-above-budget": "the 99 % HDI {interval} lies above the budget of +{budget:g%}",
    "hdi-below-budget": "the 99 % HDI {interval} lies below the budget of +{budget:g%}",
    "hdi-across-budget": "the 99 % HDI {interval} reaches across the budget of +{budget:g%}",
    # why an interval that would decide does not
    "few-rounds": f"{_HARDLY}{_FARTHER}",
    "few-rounds-budget": f"{_HARDLY}, so an interval a third wider would have to lie clear of the budget",
    "typical-not-shown": f"the typical operation alone does not show it (95 % HDI {{typical}}){_FARTHER}",
    "outlying-trials": (
        "outlying trials: {outlying} of {trials} of this condition, {plain_outlying} of {plain_trials} of the plain"
        f" twins; they may hit one instance and not its twin{_FARTHER}"
    ),
    "few-stalls": (
        "stalls are too few to bound what they cost: {stalls} in {trials} trials of this condition, {plain_stalls} in"
        " {plain_trials} of the plain twins"
    ),
    "costs-in-steps": (
        "trials cost the same to the last digit, so their clock or counter has steps: these leave a mean open by"
        " {sd:.2g%} (standard deviation), which is in the interval"
    ),
    "one-sided-failures": (
        "{lost} of {trials} trials of this condition failed and {plain_lost} of {plain_trials} of the plain twins, more"
        " on one side than chance explains: what they would have cost is not known"
    ),
    "carried-over": (
        "the trial after an encrypted one costs {effect} % (95 % interval {interval}): the overhead is that of a trial"
        " by itself, and encrypted work that follows encrypted work pays both"
    ),
    "no-data": "no complete block has a cost above zero to compare: the interval is the prior's",
    # a verdict that a single round makes
    "one-round": "one round makes this verdict: no other round confirms it",
    "round-decides": "round {round} makes this verdict: without it, it is {decision}",
    "rounds-decide": ("each of the rounds {rounds} makes this verdict: without any one of them, it is {decision}"),
    "every-round-decides": "every round makes this verdict: without any one of them, it is {decision}",
    # unsound
    "check-failed": "{check}: no, {detail}",
}
