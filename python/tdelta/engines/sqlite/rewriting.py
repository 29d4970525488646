"""How a file is encrypted, gets another key or is decrypted, and what the plain twin does meanwhile.

Each library does what its users do. SQLite3 Multiple Ciphers rewrites the file in place (``PRAGMA rekey``): every page
is read, journaled and written; where the file must keep fewer bytes of its pages afterwards, it is rebuilt. SQLCipher
does that for a change of key only, and copies into a new file else (``sqlcipher_export``).

The plain twin does the same without a key: it writes every page anew in place through the same journal (the library's
own backup, from a copy of the file), rebuilds, or exports into a plain file.
"""

from __future__ import annotations

from dataclasses import dataclass

from tdelta.engines.sqlite.conversion import ConversionStep, Layout, Target, conversion

_REKEY = "PRAGMA rekey = :key"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What is done on a connection to the file: steps, or (``writes_pages``) every page written anew.

    ``is_in_place``: the file itself is rewritten, and no new one is made.
    """

    steps: tuple[ConversionStep, ...] = ()
    is_in_place: bool = True

    @property
    def writes_pages(self) -> bool:
        """Whether there is nothing to be said in SQL."""
        return not self.steps


def rewrite(kind: str, change: str, wanted: Target, *, is_encrypted: bool) -> Rewrite:
    """How a twin's file is rewritten.

    Args:
        kind: whose rewrite, ``sqlite3mc`` or ``sqlcipher``.
        change: one of `tdelta.engines.shared.rewriting.REWRITES`.
        wanted: the file that is to come of it.
        is_encrypted: whether the twin is.
    """
    if kind == "sqlcipher" and change != "rekey":
        found = Layout(wanted.page_size, wanted.reserved_bytes)
        return Rewrite(conversion(kind, found, wanted).steps, is_in_place=False)
    if is_encrypted and change == "decrypt":
        return Rewrite((ConversionStep("PRAGMA rekey = ''"),))
    if is_encrypted:
        return Rewrite(
            (*(ConversionStep(pragma) for pragma in wanted.cipher_pragmas), ConversionStep(_REKEY, is_keyed=True))
        )
    if change == "decrypt" and wanted.reserved_bytes:
        return Rewrite((ConversionStep(schema="main", reserved_bytes=0), ConversionStep("VACUUM")))
    return Rewrite()
