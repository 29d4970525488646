"""The kinds of messages, each with its catalogue."""

from __future__ import annotations

from tdelta.messages.analysis import ANALYSIS_AGAINST_TRUST, ANALYSIS_REASONS
from tdelta.messages.cautions import AGAINST_TRUST, CAUTIONS
from tdelta.messages.checks import DETAILS
from tdelta.messages.imported import IMPORTED_AGAINST_TRUST, IMPORTED_CAUTIONS
from tdelta.messages.instrument import INSTRUMENT_CAUTIONS, INSTRUMENT_REASONS
from tdelta.messages.message import Message, Parameter
from tdelta.messages.reasons import REASONS
from tdelta.messages.refusals import REFUSALS

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
    """What a check found."""

    __slots__ = ()
    TEMPLATES = DETAILS


class Reason(Message):
    """Why a verdict is what it is."""

    __slots__ = ()
    TEMPLATES = REASONS | ANALYSIS_REASONS | INSTRUMENT_REASONS | UNEXPLAINED_REASONS
    AGAINST_TRUST = ANALYSIS_AGAINST_TRUST


class Refusal(Message):
    """Why a run cannot be made as asked, and what to do."""

    __slots__ = ()
    TEMPLATES = REFUSALS


class RunPart(Message):
    """A part of a run, of which something is said."""

    __slots__ = ()
    TEMPLATES = PARTS
