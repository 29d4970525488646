"""tdelta measures what encryption at rest costs a database, and says how sure it is."""

TYPE_CHECKING = False  # not typing's, which takes longer to import than all else that a process begins with

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        """``__version__``, when it is asked for: reading metadata takes longer than all else a worker starts with."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("tdelta")
        except PackageNotFoundError:  # running from a source tree that was never installed
            return "0+unknown"
