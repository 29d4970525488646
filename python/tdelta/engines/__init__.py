"""The databases that tdelta can test, one file an engine, behind one small protocol.

An engine says what it can do here (`EngineInfo`) and how a twin is opened under given levels; it opens nothing itself:
that happens in a worker process of the twin's own.
"""

from tdelta.engines.catalogue import EngineInfo, Unusable, catalogue, engine
from tdelta.engines.conversion import Conversion, Layout
from tdelta.engines.duckdb import DuckdbEngine, DuckdbSettings
from tdelta.engines.sqlite import SqliteEngine, TwinSettings
from tdelta.engines.sqlite_libraries import KINDS, PASSPHRASE, RAW, SQLCIPHER, SQLITE3MC, WHEELS, Cipher, Kind, Library

__all__ = [
    "KINDS",
    "PASSPHRASE",
    "RAW",
    "SQLCIPHER",
    "SQLITE3MC",
    "WHEELS",
    "Cipher",
    "Conversion",
    "DuckdbEngine",
    "DuckdbSettings",
    "EngineInfo",
    "Kind",
    "Layout",
    "Library",
    "SqliteEngine",
    "TwinSettings",
    "Unusable",
    "catalogue",
    "engine",
]
