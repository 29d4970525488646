"""The key of an encrypted twin is in no argument, environment, log, store, output or file."""

import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.running import require, workers_of
from tdelta.engines.sqlite.libraries import WHEELS
from tdelta.errors import TdeltaError
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
    drawn: list[str] = []
    draw = secrets.token_hex

    def remembered(count: int) -> str:
        drawn.append(draw(count))
        return drawn[-1]

    monkeypatch.setattr(secrets, "token_hex", remembered)
    return drawn


def forms_of(key: str) -> tuple[bytes, ...]:
    """The key as text in either case, and as the bytes that the text stands for."""
    return key.encode(), key.upper().encode(), bytes.fromhex(key)


def what_others_see_of(pid: int) -> Iterator[tuple[str, bytes]]:
    for name in ("cmdline", "environ", "fd/2"):
        yield f"{name} of {pid}", Path(f"/proc/{pid}/{name}").read_bytes()


def request(folder: Path, *, library: str = "sqlite3mc", **options: object) -> RunRequest:
    ciphers = {"sqlite3mc": ("aes-256", "sqlcipher"), "sqlcipher": ("aes-256", "aes-256-no-hmac")}
    require(WHEELS[library].installed_version(), WHEELS[library].install)
    return RunRequest(
        library=library,
        size_bytes=1_000_000,
        vary={"cipher": ciphers[library]},
        trial_seconds=0.03,
        blocks_per_round=2,
        min_rounds=1,
        max_rounds=1,
        bb_control=False,
        max_seconds=300.0,
        directory=folder / "twins",
        store=folder / "runs.sqlite",
        **options,
    )


@pytest.mark.parametrize(
    ("library", "workload", "key"),
    [("sqlite3mc", None, None), ("sqlcipher", None, "raw"), ("sqlcipher", "connect", "passphrase")],
)
def test_no_key_is_seen_anywhere_while_a_run_goes_on_or_after_it(
    tmp_path: Path, keys: list[str], library: str, workload: str | None, key: str | None
) -> None:
    shown = io.StringIO()
    seen: list[tuple[str, bytes]] = []

    with progress(shown, live=False) as observer:

        def watch(event: Event) -> None:
            observer(event)
            if isinstance(event, TrialDone):
                pids = workers_of(os.getpid())
                assert len(pids) == 4  # two plain twins, one of each cipher
                for pid in pids:
                    seen.extend(what_others_see_of(pid))
                files = [file for file in tmp_path.rglob("*") if file.is_file()]
                seen.extend((str(file), file.read_bytes()) for file in files)

        result = conduct(request(tmp_path, library=library, workload=workload, key=key), watch)

    exported = io.StringIO()
    with Store.open(tmp_path / "runs.sqlite") as store:
        write(store, result.settings.run_id, "json", exported)
        seen.append(("page", page(compose(gather(store, result.settings.run_id))).encode()))
    seen.append(("progress", shown.getvalue().encode()))
    seen.append(("document", to_json(document(result, 0)).encode()))
    seen.append(("terminal", draw(run_blocks(result, with_details=True), 100, color=False).encode()))
    seen.append(("export", exported.getvalue().encode()))
    seen.extend((str(file), file.read_bytes()) for file in tmp_path.rglob("*") if file.is_file())
    seen.append(("own environment", Path("/proc/self/environ").read_bytes()))

    assert len(keys) >= 2  # those of files that prices are measured on are drawn as well
    assert any(name.endswith(".db") for name, _ in seen)
    assert any(name.endswith("runs.sqlite") for name, _ in seen)
    assert [name for name, text in seen for key in keys for form in forms_of(key) if form in text] == []


@pytest.mark.parametrize(("library", "workload"), [("sqlite3mc", None), ("sqlcipher", None), ("sqlcipher", "connect")])
def test_no_key_is_in_the_message_of_a_statement_that_fails(
    tmp_path: Path, keys: list[str], library: str, workload: str | None
) -> None:
    def sabotage(event: Event) -> None:
        if isinstance(event, TrialDone):
            for file in (tmp_path / "twins").rglob("*.db"):
                file.write_bytes(os.urandom(file.stat().st_size))

    with pytest.raises(TdeltaError) as raised:
        conduct(request(tmp_path, library=library, workload=workload, cache=0.001), sabotage)
    told = f"{raised.value!r} {raised.value.__cause__!r}"
    assert len(keys) >= 2
    assert [key for key in keys if key in told] == []


def test_two_ciphers_never_share_a_key_nor_do_two_runs(tmp_path: Path, keys: list[str]) -> None:
    for _ in range(2):
        conduct(request(tmp_path), lambda _event: None)
    assert len(set(keys)) == len(keys) >= 4
    assert {len(key) for key in keys} == {64}
