"""The version of everything that could change a figure, from the metadata of what is installed.

Nothing is imported to be asked: loading a database library into the parent process is not for this layer to do.
"""

from __future__ import annotations

import platform

NOT_INSTALLED = "not installed"
DISTRIBUTIONS = ("apsw-sqlite3mc", "click", "jinja2", "markupsafe", "numpy", "psutil", "rich", "sqlglot")
"""What tdelta needs at run time, as ``pyproject.toml`` lists it (a test holds them together)."""


def library_versions() -> dict[str, str]:
    """The versions by name: Python, its C library, tdelta, each installed dependency, and the SQLite of the store."""
    # Not earlier: a worker, which imports this package, is to hold no SQLite but the one under test, and to start fast.
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    from tdelta import __version__

    libc, libc_version = platform.libc_ver()
    versions = {
        "python": platform.python_version(),
        libc or "libc": libc_version or "unknown",
        "tdelta": __version__,
        "sqlite (store)": sqlite3.sqlite_version,
    }
    for name in DISTRIBUTIONS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = NOT_INSTALLED
    return versions
