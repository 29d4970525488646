"""Whether a process can do without the CPU's AES instructions here, and what its environment must say for that.

User-space engines use the instructions directly, whatever kernel modules are loaded; so they are hidden from the
process that runs the engine, before it starts. How depends on whom the engine asks what the CPU can do:

- OpenSSL reads a variable of its own (`OPENSSL_WORD`).
- A Go program (gocryptfs) reads a variable of Go's runtime (`GO_SETTING`). Go then hashes its maps without AES, too.
- A library that executes CPUID itself is given another answer by a preload (``crates/no-aes``), which replaces the
  instruction in the code of the loaded libraries.

Setting a variable proves nothing: `tdelta.engines.embedded.pricing` times a page cipher of the library under test.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tdelta.measure.machine import parse_cpuinfo
from tdelta.measure.procfs import read_text

OPENSSL_VARIABLE = "OPENSSL_ia32cap"

OPENSSL_WORD = "~0x200000200000000:~0x60000000000"
"""The value that hides AES-NI and PCLMULQDQ (word 0: bits 57 and 33, which are bits 25 and 1 of leaf 1's ECX) and VAES
and VPCLMULQDQ (word 1: bits 41 and 42, bits 9 and 10 of leaf 7's ECX); OPENSSL_ia32cap(3).

Without the part behind the colon the second word becomes zero, which also disables AVX2 and SHA: another treatment. An
empty value disables everything, so whoever wants the instructions on leaves the variable out.
"""

GO_VARIABLE = "GODEBUG"

GO_SETTING = "cpu.aes=off"
"""Hides AES-NI from a Go program; its AES-GCM asks for this flag together with PCLMULQDQ's."""

_PRELOAD_VARIABLE = "LD_PRELOAD"
_PRELOAD_SEPARATORS = " :"
_PRELOAD_TOKENS = "$"


class CryptoKind(StrEnum):
    """Whom an engine's ciphers ask what the CPU can do: ``openssl``, ``go``, or by their own code CPUID (``own``)."""

    OPENSSL = "openssl"
    OWN = "own"
    GO = "go"


class PreloadMode(StrEnum):
    """How the preload of this process catches CPUID; ``none`` also where there is no preload."""

    NONE = "none"
    PATCHING = "patching"


class Preload(NamedTuple):
    """Counters of the preload of this process so far.

    ``patched`` counts the instructions that were replaced, ``unpatched`` the places that may hold one and were left as
    they are (constants that look like it among them), ``answered`` the CPUIDs that were answered in the CPU's place.
    """

    mode: PreloadMode
    patched: int = 0
    unpatched: int = 0
    answered: int = 0


def preload_path() -> Path:
    return Path(__file__).resolve().parent.parent / "libno_aes.so"


def cpu_has_aes(root: Path = Path("/")) -> bool:
    return "aes" in parse_cpuinfo(read_text(root / "proc/cpuinfo") or "").flags


def hidden_environment(kind: CryptoKind, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables for a process's environment so that its engine does not see the AES instructions.

    Args:
        kind: whom the engine asks. A preload does not help against OpenSSL's own question, nor the variable here.
        inherited: the environment that is added to, this process's own if not given; a preload that is in it stays.
    """
    if kind is CryptoKind.OPENSSL:
        return {OPENSSL_VARIABLE: OPENSSL_WORD}
    given = os.environ if inherited is None else inherited
    if kind is CryptoKind.GO:
        return {GO_VARIABLE: ",".join(filter(None, (given.get(GO_VARIABLE, ""), GO_SETTING)))}  # the last one counts
    return {_PRELOAD_VARIABLE: ":".join(filter(None, (str(preload_path()), given.get(_PRELOAD_VARIABLE, ""))))}


def environment_at(level: str, crypto: str) -> dict[str, str]:
    """Variables for a process at this level of ``aes_instructions``, by whose code encrypts (`CryptoKind`)."""
    return {} if level == "on" else hidden_environment(CryptoKind(crypto))


def cannot_hide(kind: CryptoKind, root: Path = Path("/")) -> str | None:
    """Why the AES instructions cannot be switched off here, in words for people; None where they can."""
    if platform.machine() != "x86_64":
        return f"AES instructions can be hidden from a process on x86-64 only, and this is {platform.machine()}"
    if not cpu_has_aes(root):
        return "this CPU has no AES instructions (no flag aes in /proc/cpuinfo)"
    return _preload_fault(preload_path()) if kind is CryptoKind.OWN else None


def _preload_fault(path: Path) -> str | None:
    """Why the preload cannot be used. ``LD_PRELOAD`` has no way to write a blank, a colon or a dollar of a path."""
    if not path.is_file():
        return f"{path} is not in this installation: make setup builds it, and the wheel for x86-64 Linux has it"
    found = [sign for sign in _PRELOAD_SEPARATORS + _PRELOAD_TOKENS if sign in str(path)]
    if found:
        signs = " and ".join(map(repr, found))
        return f"LD_PRELOAD cannot name {path}, which has {signs} in it: install tdelta in a folder without"
    return None


def preload() -> Preload:
    library = ctypes.CDLL(None)
    if not hasattr(library, "no_aes_mode"):
        return Preload(PreloadMode.NONE)
    library.no_aes_answered.restype = ctypes.c_uint64
    return Preload(
        mode=PreloadMode.PATCHING if library.no_aes_mode() else PreloadMode.NONE,
        patched=library.no_aes_patched(),
        unpatched=library.no_aes_unpatched(),
        answered=library.no_aes_answered(),
    )
