"""Requests for a proof, and the files left when its worker dies; without a database."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdelta.engines.embedded.pricing import ask_proof
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

    order: dict[str, Any]
    dies = False

    def ask(self, do: str, *, seconds: float, **order: Any) -> dict[str, Any]:
        self.order = {"do": do, "seconds": seconds, **json.loads(json.dumps(order))}
        for files in order["files"].values():
            Path(files["create"]["path"]).touch()
        if self.dies:
            raise WorkerFault(Refusal.of("block-silent", seconds=1))
        return dict(ANSWER)


@pytest.fixture
def worker() -> Answering:
    return Answering()


def prove(worker: Answering, folder: TwinFolder, cipher: str = "aes-256") -> CipherProof:
    return ask_proof(worker, SqliteEngine(), folder, cipher, None)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[TwinFolder]:
    with TwinFolder(tmp_path, "test") as folder:
        yield folder


def test_a_proof_is_what_its_worker_found(worker: Answering, folder: TwinFolder) -> None:
    assert prove(worker, folder, "aes-128") == CipherProof(
        "aes-128",
        "a library",
        plain_us_per_page=0.4,
        cipher_us_per_page=1.2,
        mode=PreloadMode.PATCHING,
        patched=10,
        unpatched=1,
        answered=4,
    )
    assert worker.order["do"] == "prove"


def test_the_two_files_differ_in_cipher_and_key_only(worker: Answering, folder: TwinFolder) -> None:
    prove(worker, folder, "sqlcipher")
    files = worker.order["files"]
    assert {name: bool(found["reading"]["key"]) for name, found in files.items()} == {"plain": False, "encrypted": True}
    for how in ("create", "reading"):
        plain, encrypted = files["plain"][how], files["encrypted"][how]
        assert encrypted["cipher_pragmas"] == ["PRAGMA cipher='sqlcipher'"]
        different = {name for name in plain if plain[name] != encrypted[name]}
        assert different == {"path", "cipher_pragmas", "key"}
    assert files["plain"]["create"]["reserve"] == 80


def test_every_proof_draws_a_key_of_its_own(worker: Answering, folder: TwinFolder) -> None:
    keys = set()
    for _ in range(3):
        prove(worker, folder)
        keys.add(worker.order["files"]["encrypted"]["reading"]["key"])
    assert len(keys) == 3


@pytest.mark.parametrize("dies", [False, True])
def test_no_file_is_left_whatever_becomes_of_the_worker(worker: Answering, folder: TwinFolder, dies: bool) -> None:
    worker.dies = dies
    before = sorted(folder.path.iterdir())
    with pytest.raises(WorkerFault) if dies else contextlib.nullcontext():
        prove(worker, folder)
    assert sorted(folder.path.iterdir()) == before
