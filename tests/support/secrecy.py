"""Where the key of an encrypted twin could be seen: arguments, environments, logs, the store, outputs, files."""

import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.running import workers_of
from tdelta.records import Event, TrialDone
from tdelta.report.details import run_blocks
from tdelta.report.document import document, to_json
from tdelta.report.drawing import draw
from tdelta.report.page.compose import compose
from tdelta.report.page.file import render as page
from tdelta.report.page.gather import gather
from tdelta.report.progress import progress
from tdelta.session import RunRequest, conduct
from tdelta.store import Store
from tdelta.store.export import write


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys that were drawn."""
    drawn: list[str] = []
    draw = secrets.token_hex

    def remembered(count: int) -> str:
        drawn.append(draw(count))
        return drawn[-1]

    monkeypatch.setattr(secrets, "token_hex", remembered)
    return drawn


def _others_see_of(pid: int) -> Iterator[tuple[str, bytes]]:
    for name in ("cmdline", "environ", "fd/2"):
        yield f"{name} of {pid}", Path(f"/proc/{pid}/{name}").read_bytes()


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    return ((str(file), file.read_bytes()) for file in folder.rglob("*") if file.is_file())


def seen_of(request: RunRequest, folder: Path, workers: int) -> list[tuple[str, bytes]]:
    """All that can be seen of a run, with so many workers, while it goes on in a folder and after it, by name."""
    shown = io.StringIO()
    seen: list[tuple[str, bytes]] = []
    with progress(shown, live=False) as observer:

        def watch(event: Event) -> None:
            observer(event)
            if isinstance(event, TrialDone):
                pids = workers_of(os.getpid())
                assert len(pids) == workers
                for pid in pids:
                    seen.extend(_others_see_of(pid))
                seen.extend(_files(folder))

        result = conduct(request, watch)

    exported = io.StringIO()
    with Store.open(folder / "runs.sqlite") as store:
        write(store, result.settings.run_id, "json", exported)
        seen.append(("page", page(compose(gather(store, result.settings.run_id))).encode()))
    texts = {
        "progress": shown.getvalue(),
        "document": to_json(document(result, 0)),
        "terminal": draw(run_blocks(result, with_details=True), 100, color=False),
        "export": exported.getvalue(),
    }
    seen += [(name, text.encode()) for name, text in texts.items()]
    return [*seen, *_files(folder), ("own environment", Path("/proc/self/environ").read_bytes())]


def showing(seen: list[tuple[str, bytes]], keys: list[str]) -> list[str]:
    """The names of what shows a key: as text in either case, or as the bytes that the text stands for."""
    forms = [form for key in keys for form in (key.encode(), key.upper().encode(), bytes.fromhex(key))]
    return [name for name, text in seen if any(form in text for form in forms)]
