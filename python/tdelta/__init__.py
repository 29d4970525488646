"""tdelta measures what encryption at rest costs a database, and says how sure it is."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("tdelta")
except PackageNotFoundError:  # running from a source tree that was never installed
    __version__ = "0+unknown"
