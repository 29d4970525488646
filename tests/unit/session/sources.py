import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tdelta.engines.sqlite.conversion import Layout
from tdelta.engines.sqlite.staging import FileStat, Original
from tdelta.engines.sqlite.user_file import FileCopy
from tdelta.messages import Caution
from tdelta.session import RunRequest
from tdelta.session.run_plan import Source
from tdelta.workloads import Transaction, Workload
from tdelta.workloads.database import Database, DatabaseColumn, DatabaseTable
from tdelta.workloads.model import KeyTable

LOOK = Transaction("look", "Look", 3.0, "SELECT x FROM work WHERE id = :min_work;\n", writes=False)
WORKLOAD = Workload("mine", 1, "Mine", "", (), (LOOK,), 1, 0, keys=(KeyTable("work", "work"),))
TABLE = DatabaseTable("work", 1000, 40_000, (DatabaseColumn("id", 1), DatabaseColumn("x")), lowest=1, highest=2**60)
CAUTION = "the workload is tdelta's proposal"


def source(folder: Path, **changes: object) -> Source:
    path = folder / "original.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(50_000))
    named = folder / "users" / "app.db"
    original = Original(named, named, {"": FileStat(40_000, 1, 2), "-wal": FileStat(2_000, 3, 4)})
    made = Source(
        copy=FileCopy(original, path, Layout(page_size=1024, reserved_bytes=12)),
        database=Database((TABLE,), frozenset({"work"})),
        workload=WORKLOAD,
        constants={"rows_work": 1000, "min_work": 1, "max_work": 2**60, "keys_work": 1000},
        tables=(("work", ("id", "x")), ("tdelta_key_work", ("n", "k1"))),
        checksums={"work": (1000, "5eed" * 8), "tdelta_key_work": (1000, "5eed" * 8)},
        is_proposed=True,
        notes=("not-inserted",),
        cautions=(Caution.verbatim(CAUTION),),
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def staging(made: Callable[[], Source]) -> Callable[..., object]:
    @contextmanager
    def staged(request: RunRequest, *_: object) -> Iterator[Source | None]:
        yield None if request.database is None else made()

    return staged
