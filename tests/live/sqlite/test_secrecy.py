"""The key of an encrypted twin is in no argument, environment, log, store, output or file."""

import os
from pathlib import Path

import pytest

from support import secrecy
from support.running import require
from support.secrecy import seen_of, showing
from tdelta.engines.sqlite.libraries import WHEELS
from tdelta.errors import TdeltaError
from tdelta.records import Event, TrialDone
from tdelta.session import RunRequest, conduct

keys = secrecy.keys  # a fixture


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
    seen = seen_of(request(tmp_path, library=library, workload=workload, key=key), tmp_path, workers=4)
    assert len(keys) >= 2  # those of files that prices are measured on are drawn as well
    assert any(name.endswith(".db") for name, _ in seen)
    assert any(name.endswith("runs.sqlite") for name, _ in seen)
    assert showing(seen, keys) == []


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
