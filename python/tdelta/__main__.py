"""``tdelta`` and ``python -m tdelta``: the command line, also where Ctrl-C comes before its modules are read."""

from tdelta.leaving import leave_at_once

leave_at_once()  # before anything else is imported, since Ctrl-C would print a traceback in the middle of it

import os  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402

_LEAST_ADDRESSES = 400_000 << 10
"""Bytes of address space with which the smallest run was seen to end well (``ulimit -v 400000``)."""
_LEAST_FILES = 64
"""Files and pipes that the smallest run has open at once, with room to spare."""
_USAGE = 2


def main() -> None:
    if said := _lacking():
        if sys.stderr is not None:
            sys.stderr.write(f"error: {said}\n")
        os._exit(_USAGE)
    from tdelta.cli.main import main as run

    run()


def _lacking() -> str | None:
    """The limits of this process that leave no room for the modules, which would die without a word."""
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses != resource.RLIM_INFINITY and addresses < _LEAST_ADDRESSES:
        wanted, found = _LEAST_ADDRESSES >> 10, addresses >> 10
        return f"expected at least {wanted} KiB of address space, found {found}: allow more (ulimit -v {wanted})"
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= _LEAST_FILES or soft == resource.RLIM_INFINITY:
        return None
    if hard < _LEAST_FILES and hard != resource.RLIM_INFINITY:
        return f"expected to be allowed {_LEAST_FILES} open files, found {hard}: allow more (ulimit -n {_LEAST_FILES})"
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return None


if __name__ == "__main__":
    main()
