"""The kinds of messages, each with its catalogue."""

from __future__ import annotations

from tdelta.messages.analysis import ANALYSIS_AGAINST_TRUST, ANALYSIS_REASONS
from tdelta.messages.cautions import AGAINST_TRUST, CAUTIONS
from tdelta.messages.checks import DETAILS
from tdelta.messages.imported import IMPORTED_AGAINST_TRUST, IMPORTED_CAUTIONS
from tdelta.messages.instrument import INSTRUMENT_CAUTIONS, INSTRUMENT_REASONS
from tdelta.messages.message import Message, Parameter
from tdelta.messages.parts import PARTS
from tdelta.messages.reasons import REASONS
from tdelta.messages.refusals import REFUSALS
from tdelta.messages.unexplained import UNEXPLAINED_REASONS

__all__ = ["Caution", "Detail", "Message", "Parameter", "Reason", "Refusal", "RunPart"]


class Caution(Message):
    """What a reader must know before believing the figures."""

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
