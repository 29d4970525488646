"""Where runs are kept: one SQLite file, one durable row a trial; and the way out of it, as CSV and JSON."""

from tdelta.store import export
from tdelta.store.codec import decode, encode
from tdelta.store.store import RunStatus, RunSummary, Store, default_path

__all__ = ["RunStatus", "RunSummary", "Store", "decode", "default_path", "encode", "export"]
