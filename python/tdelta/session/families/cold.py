"""Runs whose operations begin with nothing of the data in any cache: ``--cold``, or the factor ``caches``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tdelta.errors import UsageError
from tdelta.records import Level

if TYPE_CHECKING:
    from tdelta.session.request import RunRequest


def check_cold(
    request: RunRequest, levels: Mapping[str, Sequence[Level]], *, most_threads: int | None, product: str
) -> None:
    """Refuse what caches cannot be emptied for.

    Args:
        request: what was asked for.
        levels: the levels of each varied factor.
        most_threads: how many connections can be cold at once; None where it does not matter.
        product: the engine, for people.

    Raises:
        UsageError: operations fall due while caches are emptied, or trials are cut, or connections are too many.
    """
    if request.cold and "caches" in levels:
        raise UsageError("--cold and --vary caches=…: expected one of the two; list both levels in --vary")
    if not request.cold and "cold" not in levels.get("caches", ()):
        return
    wrong = [f"--{name}" for name in ("rate", "at") if getattr(request, name) is not None]
    wrong += ["--vary at"] if "at" in levels else []
    wrong += ["--slice"] if request.slice_seconds else []
    threads = max(map(int, levels.get("threads", (request.threads,))))
    wrong += [f"--threads above {most_threads}"] if most_threads is not None and threads > most_threads else []
    if wrong:
        raise UsageError(f"{', '.join(wrong)}: not with cold caches on {product}, which are emptied in between")
