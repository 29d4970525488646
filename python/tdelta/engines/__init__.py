"""The databases that tdelta can test, one file an engine, behind one small protocol.

An engine says what it can do here (`EngineInfo`) and how a twin is opened under given levels; it opens nothing itself:
that happens in a worker process of the twin's own.
"""

from tdelta.engines.catalogue import EngineInfo, catalogue, engine
from tdelta.engines.conversion import Conversion, Layout
from tdelta.engines.sqlite import Cipher, SqliteEngine, TwinSettings

__all__ = [
    "Cipher",
    "Conversion",
    "EngineInfo",
    "Layout",
    "SqliteEngine",
    "TwinSettings",
    "catalogue",
    "engine",
]
