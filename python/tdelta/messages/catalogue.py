from __future__ import annotations

from tdelta.messages.analysis import ANALYSIS_AGAINST_TRUST, ANALYSIS_REASONS
from tdelta.messages.cautions import AGAINST_TRUST, CAUTIONS
from tdelta.messages.checks import DETAILS
from tdelta.messages.imported import IMPORTED_AGAINST_TRUST, IMPORTED_CAUTIONS
from tdelta.messages.instrument import INSTRUMENT_CAUTIONS, INSTRUMENT_REASONS
from tdelta.messages.message import Message, Parameter
from tdelta.messages.refusals import REFUSALS

_BEYOND = "; the 99% interval must also be beyond ±{tolerance:g%}"

TOO_LITTLE, DIRECTION, DIRECTION_ALONE = "too-little-measured", "direction", "direction-alone"
"""Last reasons of verdicts that rest on little."""

CACHED, NOTHING_ENCRYPTED = "cached", "nothing-encrypted"
DIRECTIONS = frozenset({DIRECTION, DIRECTION_ALONE})
WITHOUT_AMOUNT = frozenset({TOO_LITTLE, DIRECTION_ALONE})
"""Of these no figure is shown."""

SHORTAGES = DIRECTIONS | WITHOUT_AMOUNT | {CACHED}

REASONS = {
    # where the interval is
    "interval-above": "the 95% interval {interval} is above the tolerance of ±{tolerance:g%}",
    "interval-below": "the 95% interval {interval} is below the tolerance of ±{tolerance:g%}",
    "interval-within": "the 95% interval {interval} is within the tolerance of ±{tolerance:g%}",
    "interval-across": "the 95% interval {interval} includes an edge of the tolerance of ±{tolerance:g%}",
    "above-budget": "the 99% interval {interval} is above the budget of +{budget:g%}",
    "below-budget": "the 99% interval {interval} is below the budget of +{budget:g%}",
    "across-budget": "the 99% interval {interval} includes the budget of +{budget:g%}",
    # why an interval that would decide does not
    "few-rounds": "only {rounds} {rounds:round|rounds}, so the 99% interval must also decide, and does not",
    "few-rounds-budget": "only {rounds} {rounds:round|rounds}, so a one-third wider interval must exclude the budget",
    "overhead-wanders": "the overhead changed during the run; the 99% interval does not confirm the verdict",
    "typical-not-shown": f"not shown by the outlier-resistant estimate (95% interval {{typical}}){_BEYOND}",
    "outlying-trials": (
        f"outliers ({{outlying}} of {{trials}} trials, {{plain_outlying}} of {{plain_trials}} unencrypted){_BEYOND}"
    ),
    "few-stalls": "too few stalls to judge ({stalls} of {trials} trials, {plain_stalls} of {plain_trials} unencrypted)",
    "costs-in-steps": "coarse clock or counter: means may be off by {sd:.2g%} (standard deviation, in the interval)",
    "one-sided-failures": "{lost} of {trials} trials failed, {plain_lost} of {plain_trials} unencrypted: cost unknown",
    "carried-over": "a trial after an encrypted one costs {effect}% ({interval}), which is not in the overhead",
    NOTHING_ENCRYPTED: "almost nothing was encrypted or decrypted in the trials",
    CACHED: (
        "the data fits in the cache: {pages:.2g} pages per transaction were encrypted or decrypted, at most"
        " {page_us:g} µs each, which is under {most:.2g%} of the response time"
    ),
    TOO_LITTLE: "{blocks} complete {blocks:block|blocks}, an interval {points:.0f} points wide",
    DIRECTION: "with {rounds} {rounds:round|rounds}, the 99% interval must show {direction} as well",
    DIRECTION_ALONE: "{rounds} {rounds:round|rounds} and {blocks} {blocks:block|blocks} show {direction}, no amount",
    "no-data": "no complete block with a cost above zero: the interval is the prior's",
    # a verdict that depends on a single round
    "one-round": "the verdict rests on one round, which no other confirms",
    "round-decides": "the verdict depends on {rounds}: without it, {decision}",
    # invalid
    "check-failed": "{check}: no, {detail}",
}

UNEXPLAINED_REASONS = {
    # costs without a component
    "pages-without-unit-cost": "pages: unknown unit cost in this engine's code",
    "pages-not-counted": "pages: not counted in these trials",
    "integrity-in-cipher": "integrity: {mac} is part of the cipher's component",
    "log-as-blocks": "log: counted as blocks; extra time for short records is in the residual",
    "log-pages-in-cipher": "log: its pages are in the cipher's component",
    "log-calls-in-cipher": "log: its calls are in the cipher's component",
    "extra-io-without-unit-cost": "extra I/O: unknown unit cost of an unencrypted page",
    "calls-not-timed": "timed calls: {fault}",
    # a large residual without functions
    "functions-not-sampled": "{why}",
    "no-function-differs": "no function outside of ciphers took more time ({plain:,} and {encrypted:,} samples)",
    # effects of one trial on the next
    "carry-over-few-trials": "effect of an encrypted trial on the next one: too few trials, or too noisy",
    "carry-over-only-plain": "effect of an encrypted trial on the next one: only unencrypted copies ran",
    "carry-over-to-itself": "effect of a copy on its own next trial: no copy runs twice in a row",
    "carry-over-course": "how fast that effect fades within a trial: each trial has one figure",
}

PARTS = {
    "sizing": "the sizing of the trials",
    "before-trials": "the time before the first trial",
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
    AGAINST_TRUST = AGAINST_TRUST + IMPORTED_AGAINST_TRUST


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
