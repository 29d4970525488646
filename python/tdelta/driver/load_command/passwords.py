"""Passwords in the commands that users give: found by where programs take them, and never repeated.

Such a command is stored with the run, packed, repeated on the page and seen by every user of the machine while it runs.
What a shell fills in (``$NAME``) and placeholders are no passwords.
"""

from __future__ import annotations

import re

_FOLLOWS = r"['\"]?(?![\s'\"${`]|\Z)"
"""Where a value follows that is written out."""

_SPACED = rf"\s+(?![-<>|&;]){_FOLLOWS}"
_WORDS = r"(?:pass(?:w(?:o(?:rd?)?|d)?|phrase)?\d*|pwd|secret(?:[-_]access[-_]key)?|token|api[-_]?key)"
_MYSQLS = r"(?:mysql|mariadb|mydumper|myloader|mariabackup|xtrabackup)[\w-]*"


def _of(programs: str, option: str) -> re.Pattern[str]:
    """An option that has a password with these programs alone."""
    return re.compile(rf"(?<![\w-]){programs}(?![\w-])[^|;&\n]*?\s{option}")


_PATTERNS = (
    re.compile(rf"(?i)(?<![\w-])(--(?:[a-z0-9]+[-_])*{_WORDS})(?:={_FOLLOWS}|{_SPACED})"),
    re.compile(rf"(?i)(?<![\w$-])(\w*(?:password|passwd|passphrase)|(?:[a-z0-9]+_)*{_WORDS})\s*=\s*{_FOLLOWS}"),
    re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@:'\"]*:(?![$'\"{`])[^\s@'\"]+@"),
    _of(_MYSQLS, rf"(-p){_FOLLOWS}"),
    _of("(?:7z[arz]?|rar|unrar)", rf"(-p){_FOLLOWS}"),
    _of("(?:sshpass|mydumper|myloader|mongo[a-z]*|cqlsh)", rf"(-p)(?:{_FOLLOWS}|{_SPACED})"),
    _of("(?:zip|unzip|sqlcmd|bcp|isql|osql)", rf"(-P)(?:{_FOLLOWS}|{_SPACED})"),
    _of("(?:redis-cli|valkey-cli)", rf"(-a){_SPACED}"),
    _of("(?:curl|wget|https?|xh)", rf"(-u|-U|-a|--user|--proxy-user|--auth)[ =]*['\"]?[^\s:'\"=]+:{_FOLLOWS}"),
    _of("openssl", rf"(-[kK])(?:{_SPACED})"),
    re.compile(rf"(?<!\w)(-pass(?:in|out)?)\s+['\"]?pass:{_FOLLOWS}"),
    re.compile(
        rf"(?i)\b((?:proxy-)?authorization|x-api-key|[\w-]*-token)\s*:\s*(?:(?:bearer|basic|token)\s+)?{_FOLLOWS}"
    ),
    _of("(?:sqlplus|impdp|imp|sqlldr|rman)", r"['\"]?([\w$#]+/)(?![$'\"{`])[^\s/@'\"]+@"),
    re.compile(rf"(?i)\b(identified\s+by)\s+(?:password\s+)?{_FOLLOWS}"),
)


def passwords_in(command: str) -> tuple[str, ...]:
    """What stands before each password in a command: an option, a variable, the scheme of an address."""
    found = [match[1] for pattern in _PATTERNS for match in pattern.finditer(command)]
    return tuple(dict.fromkeys(found))
