"""Where runs are kept: one SQLite file, one durable row per trial; and the way out of it, as CSV and JSON."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.store.codec import decode, encode
    from tdelta.store.store import Store, default_path
    from tdelta.store.summaries import RunStatus, RunSummary
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(
        __name__,
        codec=("decode", "encode"),
        store=("Store", "default_path"),
        summaries=("RunStatus", "RunSummary"),
    )
