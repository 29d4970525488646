"""Words that say whether something is encrypted, in names of conditions, columns and commands: ``plain``, ``tde-off``.

They decide which condition is the baseline, which columns of a table are conditions, and whether an answer speaks of
encryption. Case does not matter; a word within a word (``encoder``) says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tdelta.errors import UnknownName, UsageError
from tdelta.messages import Refusal

_HIDDEN = r"(?:pg[-_ ]?tde|tde|encrypt(?:ed|ion)?|enc|crypt(?:ed)?|cipher(?:ed)?)"
_PLAIN = (
    rf"(?:no|not|non|without|un)[-_ =:]?(?:{_HIDDEN}|aes)|{_HIDDEN}[-_ =:]?(?:off|none|no|false|disabled)"
    r"|none|plain(?:[-_ ]?text)?|clear(?:[-_ ]?text)?|baseline|off"
)
_ENCRYPTED = (
    rf"{_HIDDEN}[-_ =:]?(?:on|yes|true|enabled)|aes[-_ ]?(?:128|192|256)(?:[-_ ]?(?:cbc|ctr|gcm|xts|cfb))?"
    rf"|{_HIDDEN}|aes|luks|sqlcipher|gocryptfs|dm[-_]?crypt|chacha20|on"
)
_SAID = re.compile(rf"(?<![^\W_])(?:(?P<plain>{_PLAIN})|(?P<encrypted>{_ENCRYPTED}))(?![^\W_])", re.IGNORECASE)
_SPEAKING = re.compile(r"tde|enc|crypt|cipher|aes|luks|chacha|plain.?text|clear.?text", re.IGNORECASE)


def is_plain(text: str) -> bool:
    """Whether a text says that nothing is encrypted, and not the opposite as well: ``No encryption``, ``TDE off``."""
    return {word.lastgroup for word in _SAID.finditer(text)} == {"plain"}


def is_encrypted(text: str) -> bool:
    """Whether a text says that something is encrypted, and not the opposite as well: ``TDE (AES-256)``."""
    return {word.lastgroup for word in _SAID.finditer(text)} == {"encrypted"}


def said_of_encryption(text: str) -> str:
    """The words of a text that say whether something is encrypted, joined; empty where it has none, or both kinds."""
    if not is_plain(text) and not is_encrypted(text):
        return ""
    return "-".join(dict.fromkeys(re.sub(r"[-_ =:]+", "-", word[0].lower()) for word in _SAID.finditer(text)))


def other_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", _SAID.sub(" ", text))


def is_about_encryption(conditions: Iterable[str]) -> bool:
    """Whether conditions differ in encryption, by their names; ``plain`` over ``pgo``, ``on`` over ``off`` do not."""
    return any(_SPEAKING.search(word[0]) for name in conditions for word in _SAID.finditer(name))


def baseline_of(conditions: Iterable[str], asked: str | None = None, remedy: str = "") -> str:
    """The condition that the others are compared with.

    `asked`: the one that the user names; None: the only one whose name says plain, else the only one whose name does
    not say encrypted; `remedy`: a command that assigns the files to conditions, for the message; empty if files name
    conditions inside. Raises `UnknownName`: the one asked for is not among them; `UsageError`: the names do not decide
    it.
    """
    listed = sorted(set(conditions))
    if asked is not None:
        if asked not in listed:
            raise UnknownName("baseline", asked, listed)
        return asked
    plain = [name for name in listed if is_plain(name)]
    silent = [name for name in listed if not is_encrypted(name)]
    if len(plain) == 1:
        return plain[0]
    if not plain and len(silent) == 1 and len(listed) > 1:
        return silent[0]
    name = (plain or listed or ["NAME"])[0]
    raise UsageError(
        Refusal.of(
            "no-baseline-named",
            found="several" if plain else "none",
            listed=", ".join(listed) or "no configuration",
            name=name if name.isascii() and name.replace("-", "").isalnum() else f"'{name}'",
            remedy=remedy and f"; or assign the files to configurations:\n  {remedy}",
        )
    )
