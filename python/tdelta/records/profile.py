"""Where the CPU time of an operation goes, function by function, plain and encrypted side by side."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tdelta.records.conditions import Condition
from tdelta.records.findings import Finding


class FunctionClass(StrEnum):
    """What a function is for, as far as its symbol tells.

    ``crypto`` is the rest of a library of ciphers: what stands around them, and functions whose symbol the file does
    not tell, so that they may be a cipher or a hash. An encrypting file system's process is all of that class.
    ``library`` is the C and C++ libraries, which the database and its ciphers call alike.
    """

    CIPHER = "cipher"
    HASH = "hash"
    CRYPTO = "crypto"
    CHECKSUM = "checksum"
    COMPRESSION = "compression"
    DATABASE = "database"
    LIBRARY = "library"
    KERNEL = "kernel"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class Sampled:
    """What was sampled in one function: ``cpu_ns`` is its samples times the time between two of them.

    ``dso`` is the file that holds it, without folders, or the kernel's name in brackets; ``symbol`` is empty where that
    file does not tell it.
    """

    dso: str
    symbol: str
    samples: int
    cpu_ns: int
    is_kernel: bool = False


@dataclass(frozen=True, slots=True)
class ProfiledSide:
    """The trials of one condition that were sampled. ``operations`` are all that were executed meanwhile."""

    condition: Condition
    trials: int
    operations: int
    samples: int
    cpu_ns: float


@dataclass(frozen=True, slots=True)
class FunctionShare:
    """One function: its CPU time per operation in the plain and in the encrypted twin, ns, and the difference."""

    function: str
    dso: str
    function_class: FunctionClass
    plain_ns: float
    encrypted_ns: float
    difference_ns: float
    plain_samples: int
    encrypted_samples: int


@dataclass(frozen=True, slots=True)
class ClassShare:
    """All functions of one class: CPU time per operation, ns; ``interval95`` is of the difference.

    ``share`` is its part of the whole difference (a class that became cheaper has a negative one, and then others have
    more than all); None where the whole difference is within what so many samples show by chance.
    """

    function_class: FunctionClass
    plain_ns: float
    encrypted_ns: float
    difference_ns: float
    interval95: tuple[float, float]
    share: float | None
    share_interval95: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class CpuProfile(Finding):
    """The CPU time of one condition beside its baseline's, out of trials that were sampled and not measured.

    ``difference_ns`` is of an operation, all functions together, with its 95% interval, which knows of the number of
    samples and nothing else: not of the effects of these two instances. ``functions`` are those of the largest
    differences and times, the largest first.
    """

    FINDING = "profiles"

    baseline: ProfiledSide
    condition: ProfiledSide
    difference_ns: float
    interval95: tuple[float, float]
    classes: tuple[ClassShare, ...] = field(metadata={"inside": {"function_class": "class"}})
    functions: tuple[FunctionShare, ...] = field(metadata={"inside": {"function_class": "class"}})
