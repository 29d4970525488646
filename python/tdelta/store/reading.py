"""The run that an argument names, wherever it is: in the store, or in a pack."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tdelta.records.kept import RunKind
from tdelta.store.pack import is_pack_name, saying, unpacked
from tdelta.store.store import Store


@contextlib.contextmanager
def found(run: str, path: Path | None) -> Iterator[tuple[Store, str]]:
    """The open store that holds a run, and the run's whole id, for as long as the block lasts.

    What is made of a run that came out of a pack, here or by ``tdelta import``, belongs into the block: its values may
    be such as no run has, and then it is an error that names the pack.

    Args:
        run: what `Store.resolve` takes, or the file of a pack (`tdelta.store.pack.is_pack_name`).
        path: the store, or None for the default one; not looked at for a pack.

    Raises:
        UsageError: there is no such run, or no such file.
        StoreError: the store or the pack cannot be read.
    """
    if is_pack_name(run):
        with unpacked(Path(run)) as opened:
            yield opened
        return
    with Store.open(path, must_exist=True) as store:
        run_id = store.resolve(run)
        is_imported = store.summary(run_id).kind is RunKind.IMPORTED
        with saying(f"run {run_id}, from a pack") if is_imported else contextlib.nullcontext():
            yield store, run_id
