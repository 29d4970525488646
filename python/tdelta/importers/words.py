"""The words that names of files, folders and conditions are made of: which mean plain, which mean encrypted.

A name is cut into words at everything that is neither letter nor digit, but known expressions stay whole: ``aes-256``,
``no-encryption``, ``tde_off``, ``16-threads``, ``run-2``, ``oltp_read_only``. Case does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tdelta.records.conditions import Level

_GAP = r"[-_ =:]?"
_HIDDEN = r"(?:pg[-_ ]?tde|tde|encrypt(?:ed|ion)?|enc|crypt(?:ed)?|cipher(?:ed)?)"
_BASELINE = (
    rf"(?:no|not|non|without|un){_GAP}(?:{_HIDDEN}|aes)|{_HIDDEN}{_GAP}(?:off|none|no|false|disabled)"
    r"|none|plain(?:[-_ ]?text)?|clear(?:[-_ ]?text)?|baseline|off"
)
_AES = rf"aes{_GAP}(?:128|192|256)(?:{_GAP}(?:cbc|ctr|gcm|xts|cfb))?"
_ENCRYPTED = (
    rf"{_HIDDEN}{_GAP}(?:on|yes|true|enabled)|{_AES}|{_HIDDEN}|aes|luks|sqlcipher|gocryptfs|dm[-_]?crypt|chacha20|on"
)
_CONCURRENT = r"threads?|thrds?|thds?|thr|clients?|users?|vus?|connections?|conns?"
_COUNTED = rf"{_CONCURRENT}|cores?|vcpus?"
_WORKLOAD = (
    r"read[-_ ]?only|read[-_ ]?write|write[-_ ]?only|select[-_ ]?only|point[-_ ]?select|simple[-_ ]?update"
    r"|rnd(?:rd|wr|rw)|seq(?:rd|wr|rewr)|ycsb[-_]?[a-f]|r[ow]|wo"
)
_LEVEL = (
    rf"(?:{_COUNTED}){_GAP}\d{{1,6}}|[tc]\d{{1,6}}|\d{{1,6}}[-_ ]?(?:{_COUNTED})|\d{{1,6}}th?"
    r"|(?:buffer[-_ ]?pool|shared[-_ ]?buffers|buffer|bp|cache)[-_ =]?\d+(?:\.\d+)?[-_ ]?[kmgt]i?b?"
    r"|oltp[-_](?:read[-_]only|read[-_]write|write[-_]only|point[-_]select|update[-_](?:non[-_])?index|insert|delete)"
    r"|select[-_]random[-_](?:points|ranges)|bulk[-_]insert|tpc[-_]?[bch]"
    rf"|{_WORKLOAD}"
)
_RUN = rf"(?:run|repeat|repetition|replicate|rep|trial|try|attempt|iteration|iter|round){_GAP}\d{{1,6}}|r\d{{1,6}}"
_STAMP = r"(?:19|20)\d\d[-_.]?[01]\d[-_.]?[0-3]\d(?:[-_.t ]?[0-2]\d[-_.:]?[0-5]\d(?:[-_.:]?[0-5]\d)?z?)?|\d{5,}"
_VERSION = r"v\d+(?:\.\d+){1,3}|\d+(?:\.\d+){2,3}"


def _words(version: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<![^\W_])(?:(?P<stamp>{_STAMP})|(?P<baseline>{_BASELINE})|(?P<encrypted>{_ENCRYPTED})|(?P<level>{_LEVEL})"
        rf"|(?P<run>{_RUN})|(?P<version>{version})|(?P<number>\d+))(?![^\W_])|(?P<other>[^\W_]+)"
    )


_WORDS = _words(_VERSION)
_FOLDER_WORDS = _words(rf"{_VERSION}|\d+\.\d+")
"""``16.2`` is a version as a folder; of a file it may be 16 threads, run 2."""
_SEPARATORS = re.compile(r"[-_ =:]+")
_LOAD = re.compile(rf"oltp|select|bulk|tpc|(?:{_WORKLOAD})$")
_LEVEL_NAMES = {"t": "threads", "c": "clients", "u": "users", "v": "users", "cl": "clients", "co": "connections"}


_SPEAKING = re.compile(r"tde|enc|crypt|cipher|aes|luks|chacha|plain.?text|clear.?text")


class TokenKind(StrEnum):
    """What a word says."""

    BASELINE = "baseline"
    ENCRYPTED = "encrypted"
    LEVEL = "level"
    RUN = "run"
    STAMP = "stamp"
    """A date, a process id: it tells runs apart where nothing else does."""
    NUMBER = "number"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a name: ``text`` as it is written, in small letters; ``value`` in the one spelling of its kind."""

    kind: TokenKind
    text: str
    value: str
    level: tuple[str, Level] | None = None


def words_of(name: str, *, is_folder: bool = False) -> Iterator[Word]:
    """The words of a name, from left to right. A version (``8.0.35``) is a word as any other."""
    for match in (_FOLDER_WORDS if is_folder else _WORDS).finditer(name.lower()):
        kind = TokenKind.OTHER if match.lastgroup in (None, "version") else TokenKind(match.lastgroup)
        text = match[0]
        match kind:
            case TokenKind.LEVEL:
                level = _level_of(text)
                yield Word(kind, text, f"{level[0]}={level[1]}", level)
            case TokenKind.RUN | TokenKind.NUMBER:
                yield Word(kind, text, str(int(re.sub(r"\D", "", text))))
            case TokenKind.BASELINE | TokenKind.ENCRYPTED:
                yield Word(kind, text, _one_spelling(text))
            case _:
                yield Word(kind, text, text)


def is_baseline(condition: str) -> bool:
    """Whether a condition's name says that nothing is encrypted: ``plain``, ``No encryption``, ``TDE off``."""
    kinds = {word.kind for word in words_of(condition)}
    return TokenKind.BASELINE in kinds and TokenKind.ENCRYPTED not in kinds


def is_encrypted(condition: str) -> bool:
    """Whether a condition's name says that something is encrypted: ``TDE (AES-256)``."""
    kinds = {word.kind for word in words_of(condition)}
    return TokenKind.ENCRYPTED in kinds and TokenKind.BASELINE not in kinds


def says_encryption(condition: str) -> bool:
    """Whether a condition's name speaks of encryption, for or against it; ``on``, ``off`` and ``plain`` do not."""
    words = [word for word in words_of(condition) if word.kind in (TokenKind.BASELINE, TokenKind.ENCRYPTED)]
    return any(_SPEAKING.search(word.text) for word in words)


def _one_spelling(text: str) -> str:
    """``AES_256`` and ``aes256`` are ``aes-256``."""
    return re.sub(r"^aes-?(\d+)-?", r"aes-\1-", _SEPARATORS.sub("-", text)).rstrip("-")


def _level_of(text: str) -> tuple[str, Level]:
    """``16threads`` is ``("threads", 16)``; ``bp5g`` is ``("cache", "5 GB")``; a known load is its own name."""
    if _LOAD.match(text):
        return "workload", re.sub(r"[- ]", "_", text)
    number = re.sub(r"[^\d.]", "", text).strip(".")
    letters = re.sub(r"[\d.\W_]", "", text)
    if letters.startswith(("buffer", "shared", "bp", "cache")):
        unit = re.sub(r"^(?:bufferpool|sharedbuffers|buffer|bp|cache)", "", letters)
        return "cache", f"{number} {unit[0].upper()}B"
    if letters.startswith(("core", "vcpu")):
        return "cores", int(number)
    name = _LEVEL_NAMES.get(letters[:2]) or _LEVEL_NAMES[letters[:1]]
    return name, int(number)
