"""What can be done to a page: algorithms, modes, sizes and directions, and which of them go together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tdelta.errors import UnknownName, UsageError, raise_together
from tdelta.messages import Refusal

HMACS = ("hmac-sha1", "hmac-sha256", "hmac-sha512")
ALGORITHMS = ("aes-128", "aes-192", "aes-256", *HMACS)
MODES = ("cbc", "ctr", "gcm", "xts")
PAGE_SIZES = (4096, 8192, 16384, 262144)
LEVELS = ("on", "off")
"""Of the CPU's AES instructions: as OpenSSL finds them, and hidden from it."""

_BLOCK_BYTES = 16
_LARGEST_PAGE_BYTES = 1 << 20
_NO_XTS = "aes-192"  # IEEE Std 1619 has AES-128 and AES-256 only


@dataclass(frozen=True, slots=True)
class PageTask:
    """What is done to a page. ``mode`` is None for an HMAC, whose ``direction`` is ``authenticate``."""

    algorithm: str
    mode: str | None
    page_bytes: int
    direction: str

    @property
    def name(self) -> str:
        """Algorithm and mode: ``aes-256-cbc``, ``hmac-sha512``."""
        return f"{self.algorithm}-{self.mode}" if self.mode else self.algorithm


def page_tasks(sizes: Iterable[int], algorithms: Iterable[str], modes: Iterable[str]) -> tuple[PageTask, ...]:
    """Every task there is of these sizes, algorithms and modes, once each. There is no AES-192-XTS."""
    page_sizes, known_algorithms, known_modes = list(dict.fromkeys(sizes)), _once(algorithms), _once(modes)
    _require_known(page_sizes, known_algorithms, known_modes)
    tasks = tuple(
        PageTask(algorithm, mode, size, direction)
        for algorithm in known_algorithms
        for mode, direction in _ways(algorithm, known_modes)
        for size in page_sizes
    )
    if not tasks:
        raise UsageError(Refusal.of("requires", what="AES", needs="a mode, and XTS has no AES-192"))
    return tasks


def check_levels(levels: Iterable[str]) -> tuple[str, ...]:
    """The levels, once each, in the order of `LEVELS`."""
    wanted = _once(levels)
    raise_together(
        [UnknownName("level of the AES instructions", level, LEVELS) for level in wanted if level not in LEVELS]
        or _lacking("level of the AES instructions", wanted),
        "",
    )
    return tuple(level for level in LEVELS if level in wanted)


def _ways(algorithm: str, modes: Sequence[str]) -> list[tuple[str | None, str]]:
    if algorithm in HMACS:
        return [(None, "authenticate")]
    possible = [mode for mode in modes if (algorithm, mode) != (_NO_XTS, "xts")]
    return [(mode, direction) for mode in possible for direction in ("decrypt", "encrypt")]


def _require_known(sizes: Sequence[int], algorithms: Sequence[str], modes: Sequence[str]) -> None:
    raise_together(
        [
            *(UnknownName("algorithm", name, ALGORITHMS) for name in algorithms if name not in ALGORITHMS),
            *(UnknownName("mode", name, MODES) for name in modes if name not in MODES),
            *(_bad_size(size) for size in sizes if not _is_page_size(size)),
            *_lacking("algorithm", algorithms),
            *_lacking("page size", sizes),
        ],
        "",
    )


def _lacking(kind: str, given: Sequence[object]) -> list[UsageError]:
    return (
        [] if given else [UsageError(Refusal.of("requires", what="the cipher benchmark", needs=f"at least one {kind}"))]
    )


def _is_page_size(size: int) -> bool:
    return size % _BLOCK_BYTES == 0 and _BLOCK_BYTES <= size <= _LARGEST_PAGE_BYTES


def _bad_size(size: int) -> UsageError:
    return UsageError(
        Refusal.of(
            "out-of-range",
            what="a page size",
            wanted=f"a multiple of {_BLOCK_BYTES} bytes, at most {_LARGEST_PAGE_BYTES}",
            found=size,
        )
    )


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
