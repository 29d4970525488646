from __future__ import annotations

from tdelta.messages.analysis import ANALYSIS_AGAINST_TRUST, ANALYSIS_REASONS
from tdelta.messages.cautions import AGAINST_TRUST, CAUTIONS
from tdelta.messages.checks import DETAILS
from tdelta.messages.imported import IMPORTED_AGAINST_TRUST, IMPORTED_CAUTIONS
from tdelta.messages.instrument import INSTRUMENT_CAUTIONS, INSTRUMENT_REASONS
from tdelta.messages.message import Message, Parameter
from tdelta.messages.refusals import REFUSALS

_FARTHER = ", so the 99% interval would have to lie beyond ±{tolerance:g%}"
_HARDLY = "{rounds} {rounds:round hardly shows|rounds hardly show} how much fresh databases differ by chance"

REASONS = {
    # where the interval lies
    "hdi-above-tolerance": "the 95% interval {interval} lies above the tolerance, ±{tolerance:g%}",
    "hdi-below-tolerance": "the 95% interval {interval} lies below the tolerance, ±{tolerance:g%}",
    "hdi-within-tolerance": "the 95% interval {interval} lies within the tolerance, ±{tolerance:g%}",
    "hdi-across-tolerance": "the 95% interval {interval} reaches over an edge of the tolerance, ±{tolerance:g%}",
    "hdi-above-budget": "the 99% interval {interval} lies above the budget of +{budget:g%}",
    "hdi-below-budget": "the 99% interval {interval} lies below the budget of +{budget:g%}",
    "hdi-across-budget": "the 99% interval {interval} reaches across the budget of +{budget:g%}",
    # why an interval that would decide does not
    "few-rounds": f"{_HARDLY}, so the 99% interval has to decide, too, and does not",
    "overhead-wanders": (
        "the overhead changed during the run, so its rounds count for less, and the 99% interval does not confirm the"
        " verdict"
    ),
    "few-rounds-budget": f"{_HARDLY}, so an interval a third wider would have to lie clear of the budget",
    "typical-not-shown": f"the typical operation alone does not show it (95% interval {{typical}}){_FARTHER}",
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
        "the trial after an encrypted one costs {effect}% (95% interval {interval}): the overhead is that of a trial"
        " by itself, and encrypted work that follows encrypted work pays both"
    ),
    "nothing-encrypted": "almost nothing was encrypted or decrypted in the trials",
    "no-data": "no complete block has a cost above zero to compare: the interval is the prior's",
    # a verdict that a single round makes
    "one-round": "one round makes this verdict: no other round confirms it",
    "round-decides": "round {round} makes this verdict: without it, it is {decision}",
    "rounds-decide": ("each of the rounds {rounds} makes this verdict: without any one of them, it is {decision}"),
    "every-round-decides": "every round makes this verdict: without any one of them, it is {decision}",
    # invalid
    "check-failed": "{check}: no, {detail}",
}


UNEXPLAINED_REASONS = {
    # costs without a component
    "pages-without-unit-cost": "pages: the unit cost in this engine's code is unknown",
    "pages-not-counted": "pages: not counted in these trials",
    "integrity-in-cipher": "integrity: {mac} is one with its cipher, and in that component",
    "log-as-blocks": "log: its bytes are costed as blocks; what a short record takes beyond that is in the residual",
    "log-pages-in-cipher": "log: its pages are among the cipher's, since it holds whole pages",
    "log-calls-in-cipher": "log: calls for it are timed with those for pages, and in the cipher's component",
    "extra-io-without-unit-cost": "extra I/O: the unit cost of a plain page is unknown for this server",
    "calls-not-timed": "timed calls: {fault}",
    # a large residual without functions
    "functions-not-sampled": "{why}",
    "no-function-differs": (
        "no function outside its ciphers took significantly more than on the plain twin"
        " ({plain:,} and {encrypted:,} samples)"
    ),
    # what a trial leaves to the next one
    "carry-over-few-trials": "what an encrypted trial leaves to the next one: too few trials, or too noisy ones",
    "carry-over-only-plain": "what an encrypted trial leaves to the next one: only plain twins ran",
    "carry-over-to-itself": "what a twin leaves to its own next trial: in a block none follows itself",
    "carry-over-course": "how fast it fades within a trial: a trial is one figure",
}


PARTS = {
    "calibration": "calibration",
    "before-trials": "what came before the first trial",
    "block": "block {block}",
    "timed-calls": "the timed calls",
    "file-search": "the search of the files",
    "cpu-profile": "the CPU profile",
    "rows-compared": "the comparison of the rows after the last trial",
}


__all__ = ["Caution", "Detail", "Message", "Parameter", "Reason", "Refusal", "RunPart"]


class Caution(Message):
    __slots__ = ()
    TEMPLATES = CAUTIONS | IMPORTED_CAUTIONS | INSTRUMENT_CAUTIONS
    AGAINST_TRUST = AGAINST_TRUST | IMPORTED_AGAINST_TRUST


class Detail(Message):
    __slots__ = ()
    TEMPLATES = DETAILS


class Reason(Message):
    __slots__ = ()
    TEMPLATES = REASONS | ANALYSIS_REASONS | INSTRUMENT_REASONS | UNEXPLAINED_REASONS
    AGAINST_TRUST = ANALYSIS_AGAINST_TRUST


class Refusal(Message):
    __slots__ = ()
    TEMPLATES = REFUSALS


class RunPart(Message):
    __slots__ = ()
    TEMPLATES = PARTS
