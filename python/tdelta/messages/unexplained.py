"""The English of what a cost breakdown leaves without a component, and of what carry-over cannot be estimated, by code.

The text up to the first colon names the cost or the effect, and what follows says why.
"""

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
    "carry-over-few-trials": "anything: too few trials, or places that cannot be distinguished",
    "carry-over-only-plain": "what an encrypted trial leaves to the next one: only plain twins ran",
    "carry-over-to-itself": "what a twin leaves to its own next trial: in a block none follows itself",
    "carry-over-course": "how fast it fades within a trial: a trial is one figure",
    "carry-over-places": "what the place in a block does: {places} places are too many to tell apart",
}
