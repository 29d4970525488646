"""Where runs are kept: one SQLite file, one durable row a trial; and the way out of it, as CSV and JSON."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.store.codec import decode, encode
    from tdelta.store.store import RunStatus, RunSummary, Store, default_path
else:
    from tdelta.lazily import found_in

    __getattr__ = found_in(
        __name__,
        codec=("decode", "encode"),
        store=("RunStatus", "RunSummary", "Store", "default_path"),
    )

__all__ = ["RunStatus", "RunSummary", "Store", "decode", "default_path", "encode"]
