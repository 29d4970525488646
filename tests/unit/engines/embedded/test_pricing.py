"""What a proof tells its worker, and what is left when the worker dies. No database is needed to test that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdelta.engines.embedded import pricing
from tdelta.engines.embedded.pricing import prove
from tdelta.engines.sqlite.engine import SqliteEngine
from tdelta.errors import WorkerFault
from tdelta.measure.aes import PreloadMode
from tdelta.messages import Refusal
from tdelta.processes import TwinFolder
from tdelta.processes.protocol import CipherProof

ANSWER = {
    "library": "a library",
    "plain_us_per_page": 0.4,
    "cipher_us_per_page": 1.2,
    "mode": "patching",
    "patched": 10,
    "unpatched": 1,
    "answered": 4,
}


class Answering:
    """A worker that answers, or dies, once it has made both files."""

    environment: dict[str, str]
    order: dict[str, Any]
    dies = False

    def __init__(self, environment: dict[str, str], _program: str) -> None:
        type(self).environment = environment

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None: ...

    def ask(self, do: str, *, seconds: float, **order: Any) -> dict[str, Any]:
        type(self).order = {"do": do, "seconds": seconds, **json.loads(json.dumps(order))}
        for files in order["files"].values():
            Path(files["create"]["path"]).touch()
        if self.dies:
            raise WorkerFault(Refusal.of("block-silent", seconds=1))
        return dict(ANSWER)


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> type[Answering]:
    class OfThisTest(Answering):
        pass

    monkeypatch.setattr(pricing, "Worker", OfThisTest)
    return OfThisTest


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TwinFolder]:
    with TwinFolder(tmp_path, "test") as folder:
        yield folder


def test_a_proof_is_what_its_worker_found(worker: type[Answering], folder: TwinFolder) -> None:
    found = prove(SqliteEngine(), folder, {"LD_PRELOAD": "libno_aes.so"}, "aes-128")
    assert found == CipherProof(
        "aes-128",
        "a library",
        plain_us_per_page=0.4,
        cipher_us_per_page=1.2,
        mode=PreloadMode.PATCHING,
        patched=10,
        unpatched=1,
        answered=4,
    )
    assert worker.environment == {"LD_PRELOAD": "libno_aes.so"}
    assert worker.order["do"] == "prove"


def test_the_two_files_differ_in_cipher_and_key_only(worker: type[Answering], folder: TwinFolder) -> None:
    prove(SqliteEngine(), folder, {}, "sqlcipher")
    files = worker.order["files"]
    assert {name: bool(found["reading"]["key"]) for name, found in files.items()} == {"plain": False, "encrypted": True}
    for how in ("create", "reading"):
        plain, encrypted = files["plain"][how], files["encrypted"][how]
        assert encrypted["cipher_pragmas"] == ["PRAGMA cipher='sqlcipher'"]
        different = {name for name in plain if plain[name] != encrypted[name]}
        assert different == {"path", "cipher_pragmas", "key"}
    assert files["plain"]["create"]["reserve"] == 80


def test_every_proof_draws_a_key_of_its_own(worker: type[Answering], folder: TwinFolder) -> None:
    keys = set()
    for _ in range(3):
        prove(SqliteEngine(), folder, {})
        keys.add(worker.order["files"]["encrypted"]["reading"]["key"])
    assert len(keys) == 3


@pytest.mark.parametrize("dies", [False, True])
def test_no_file_is_left_whatever_becomes_of_the_worker(
    worker: type[Answering], folder: TwinFolder, dies: bool
) -> None:
    worker.dies = dies
    before = sorted(folder.path.iterdir())
    if dies:
        with pytest.raises(WorkerFault):
            prove(SqliteEngine(), folder, {})
    else:
        prove(SqliteEngine(), folder, {})
    assert sorted(folder.path.iterdir()) == before
