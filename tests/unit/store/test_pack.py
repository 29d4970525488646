import gzip
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.examples import MACHINE, VERSIONS, result_of, settings_of, trial_of
from support.refused import refused
from tdelta.errors import StoreError, UsageError
from tdelta.records import Counts
from tdelta.records.kept import RunKind
from tdelta.store import Store
from tdelta.store.pack import Limits, adopt, found, is_pack, is_pack_name, saying, unpacked, write_pack
from tdelta.store.store import remove_runs
from tdelta.store.summaries import LABELS, NOTE, PROCESS

RUN = "20260802-kqmt"
COUNTS = Counts(1, 1, 2, operations_per_trial=500, trial_seconds=0.25, elapsed_seconds=61.5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A finished run of two trials, with a label, a note, and what only its process knows."""
    with Store.open(tmp_path / "runs.sqlite") as opened:
        settings = settings_of(RUN)
        opened.create_run(settings, MACHINE, VERSIONS, {LABELS: ["v1"], NOTE: "new disks", PROCESS: {"pid": 1}})
        for position in range(2):
            opened.add_trial(RUN, trial_of(position=position))
        opened.finish(RUN, result_of(settings, counts=COUNTS))
        yield opened


@pytest.fixture
def pack(store: Store, tmp_path: Path) -> Path:
    path = tmp_path / "run.tdelta"
    write_pack(store, RUN, path)
    return path


def sealed(path: Path, lines: list[bytes]) -> None:
    """Write lines as a pack whose digest fits, as a stranger can."""
    text = b"".join(lines)
    last = json.dumps({"digest": hashlib.sha256(text).hexdigest()}, separators=(",", ":"))
    path.write_bytes(gzip.compress(text + last.encode() + b"\n"))


def changed(path: Path, change: Callable[[dict[str, Any]], object], line: int = 0) -> None:
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)[:-1]
    values = json.loads(lines[line])
    change(values)
    lines[line] = json.dumps(values, separators=(",", ":")).encode() + b"\n"
    sealed(path, lines)


def refusal(path: Path, limits: Limits | None = None) -> str:
    """The code with which a pack is refused; the message names the file."""
    with pytest.raises(StoreError) as raised, unpacked(path, limits or Limits()):
        pass
    assert str(path) in str(raised.value)
    return raised.value.refusals[0].code


def test_what_comes_out_of_a_pack_is_what_went_in(store: Store, pack: Path) -> None:
    with unpacked(pack) as (opened, run_id):
        assert run_id == RUN
        assert opened.trials(RUN) == store.trials(RUN)
        for of in (Store.result, Store.settings, Store.machine, Store.versions):
            assert of(opened, RUN) == of(store, RUN)
        assert opened.summary(RUN) == replace(store.summary(RUN), kind=RunKind.IMPORTED)
        assert opened.facts(RUN).keys() == {LABELS, NOTE, "kind"}


def test_the_same_run_makes_the_same_pack(store: Store, pack: Path, tmp_path: Path) -> None:
    write_pack(store, RUN, tmp_path / "again.tdelta")
    assert (tmp_path / "again.tdelta").read_bytes() == pack.read_bytes()


def test_a_pack_of_an_imported_run_is_the_same(pack: Path, tmp_path: Path) -> None:
    with unpacked(pack) as (opened, run_id):
        write_pack(opened, run_id, tmp_path / "again.tdelta")
    assert (tmp_path / "again.tdelta").read_bytes() == pack.read_bytes()


def test_a_pack_is_for_its_owner_only(pack: Path) -> None:
    assert stat.S_IMODE(pack.stat().st_mode) == 0o600


def test_a_pack_replaces_a_pack_and_nothing_else(store: Store, pack: Path, tmp_path: Path) -> None:
    write_pack(store, RUN, pack)
    other = tmp_path / "notes.txt"
    other.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        write_pack(store, RUN, other)
    assert ([one.code for one in raised.value.refusals], other.read_text(encoding="utf-8")) == (
        ["file-exists"],
        "mine",
    )
    write_pack(store, RUN, other, force=True)
    assert is_pack(other)


def test_reading_a_pack_leaves_no_file(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("TMPDIR", str(empty))
    monkeypatch.setenv("SQLITE_TMPDIR", str(empty))
    before = sorted(tmp_path.iterdir())
    with unpacked(pack):
        assert (list(empty.iterdir()), sorted(tmp_path.iterdir())) == ([], before)


def test_an_imported_run_is_in_the_store_once_and_last_never_means_it(pack: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "other.sqlite") as other, unpacked(pack) as (opened, run_id):
        adopt(other, opened, run_id)
        adopt(other, opened, run_id)
        assert [(run.run_id, run.kind, run.labels) for run in other.runs()] == [(RUN, RunKind.IMPORTED, ("v1",))]
        assert other.trials(RUN) == opened.trials(RUN)
        with pytest.raises(UsageError):
            other.resolve("last")


def test_another_run_of_the_same_id_is_not_overwritten(store: Store, pack: Path) -> None:
    changed(pack, lambda head: head["result"].update(decision="negligible"))
    expected = store.result(RUN)
    with unpacked(pack) as (opened, run_id), refused(UsageError, "pack-of-other-run"):
        adopt(store, opened, run_id)
    assert store.result(RUN) == expected


def test_damage_is_noticed(pack: Path) -> None:
    good = pack.read_bytes()
    pack.write_bytes(good[:-20])
    assert refusal(pack) == "pack-damaged"
    lines = gzip.decompress(good).splitlines(keepends=True)
    pack.write_bytes(gzip.compress(b"".join(lines[:-1])))
    assert refusal(pack) == "pack-damaged"
    pack.write_bytes(gzip.compress(b"".join(lines).replace(b"sqlite", b"duckdb")))
    assert refusal(pack) == "pack-damaged"
    pack.write_bytes(b"condition,mean\nplain,3\n")
    assert refusal(pack) == "unexpected"
    pack.write_bytes(gzip.compress(b"condition,mean\nplain,3\n"))
    assert refusal(pack) == "unexpected"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda head: head.update(schema="tdelta.pack/3"), "out-of-range"),
        (lambda head: head.update(run_id="../../../tmp/x"), "unexpected"),
        (lambda head: head["settings"].update(run_id="20260802-zzzz"), "unexpected"),
        (lambda head: head.update(machine=[1]), "unexpected"),
        (lambda head: head.update(created_unix_seconds=1e300), "unexpected"),
        (lambda head: head.update(labels=["last"]), "out-of-range"),
        (lambda head: head.pop("result"), "pack-damaged"),
        (lambda head: head["result"].update(decision="maybe"), "pack-damaged"),
        (lambda head: head["settings"].update(seed=2**63), "pack-damaged"),
        (lambda head: head["settings"].update(unknown="rm -rf /"), "pack-damaged"),
    ],
)
def test_what_no_run_can_have_is_refused(pack: Path, change: Callable[[dict[str, Any]], object], code: str) -> None:
    changed(pack, change)
    assert refusal(pack) == code


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line["trial"].update(block=True),
        lambda line: line["trial"]["measurement"]["histograms"].update({"tx:all": "no Base64!"}),
        lambda line: line.update(fact="x"),
        lambda line: line["trial"].update(position=1),  # there is one already
    ],
)
def test_a_trial_that_cannot_be_one_is_refused(pack: Path, change: Callable[[dict[str, Any]], object]) -> None:
    changed(pack, change, line=1)
    assert refusal(pack) in {"pack-damaged", "unexpected"}


def test_text_that_moves_a_terminals_cursor_is_made_harmless(pack: Path) -> None:
    changed(pack, lambda head: head["machine"].update(cpu_model="\x1b[2J\x9b\u202eevil\ud800"))
    with unpacked(pack) as (opened, run_id):
        assert opened.machine(run_id)["cpu_model"] == "\ufffd[2J\ufffd\ufffdevil\ufffd"


def test_brackets_without_end_are_refused(pack: Path) -> None:
    lines = gzip.decompress(pack.read_bytes()).splitlines(keepends=True)[:-1]
    for levels in (100, 100_000):
        sealed(pack, [*lines, b'{"trial":' + b"[" * levels + b"]" * levels + b"}\n"])
        assert refusal(pack) in {"unexpected", "pack-damaged"}


@pytest.mark.parametrize(
    "limits", [Limits(file_bytes=100), Limits(text_bytes=5_000), Limits(line_bytes=2_000), Limits(trials=1)]
)
def test_what_is_larger_than_a_limit_is_not_read(pack: Path, limits: Limits) -> None:
    assert refusal(pack, limits) == "too-large"


def test_a_bomb_is_not_unpacked(pack: Path) -> None:
    with gzip.open(pack, "wb", 1) as bomb:
        for _ in range(80):
            bomb.write(bytes(1 << 20))
    assert refusal(pack) == "too-large"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.tdelta")
    with pytest.raises(UsageError) as raised, unpacked(tmp_path / "pipe.tdelta"):
        pass
    assert raised.value.refusals[0].code == "path-unusable"


def test_values_that_break_what_is_made_of_them_are_a_fault_of_the_pack(pack: Path) -> None:
    with pytest.raises(StoreError) as raised, unpacked(pack):
        raise ZeroDivisionError("float division by zero")
    assert raised.value.refusals[0].code == "pack-damaged"


def test_a_defect_elsewhere_stays_one() -> None:
    with pytest.raises(AssertionError), saying("pack"):
        raise AssertionError


def test_a_file_of_a_pack_is_a_run_like_any_other(store: Store, pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with found(str(pack), None) as (opened, run_id):
        assert opened.result(run_id) == store.result(RUN)
    with found("v1", store.path) as (opened, run_id):
        assert (opened.path, run_id) == (store.path, RUN)
    monkeypatch.chdir(pack.parent)
    assert [is_pack_name(text) for text in ("run.tdelta", "./run.tdelta", "last", "release/3.1")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("run_id", ["last", "all", "2", "a" * 64, "20260802", "20260802-", "20260802-KQMT"])
def test_a_run_that_is_called_as_no_store_calls_one_is_refused(pack: Path, run_id: str) -> None:
    def renamed(values: dict[str, Any]) -> None:
        values["run_id"] = values["settings"]["run_id"] = values["result"]["settings"]["run_id"] = run_id

    changed(pack, renamed)
    assert refusal(pack) == "unexpected"


@pytest.mark.parametrize("inner", ["[]", "{}", '"\\u0001"', "1"])
def test_more_values_than_a_run_has_are_refused_before_they_are_made(pack: Path, inner: str) -> None:
    lines = gzip.decompress(pack.read_bytes()).splitlines(keepends=True)[:-1]
    many = ",".join([inner] * 2_000_000)
    lines[0] = lines[0].replace(b'"machine":{', f'"machine":{{"x":[{many}],'.encode(), 1)
    sealed(pack, lines)
    began = time.process_time()
    assert refusal(pack) == "too-large"
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("elapsed_ns", -5),
        ("elapsed_ns", 0),
        ("elapsed_ns", 10**18),
        ("operations", 0),
        ("operations", -1),
        ("cpu_user_seconds", 1e300),
        ("cpu_user_seconds", -1.0),
    ],
)
def test_a_trial_that_nothing_can_measure_is_refused(pack: Path, name: str, value: object) -> None:
    def made(values: dict[str, Any]) -> None:
        assert name in values["trial"]["measurement"]
        values["trial"]["measurement"][name] = value

    changed(pack, made, line=1)
    assert refusal(pack) == "unexpected"


def test_an_answer_without_its_trials_is_refused(pack: Path) -> None:
    lines = gzip.decompress(pack.read_bytes()).splitlines(keepends=True)[:-1]
    for left in (1, 2):
        sealed(pack, lines[:left])
        assert refusal(pack) == "unexpected"


def test_a_field_that_no_run_has_is_refused(pack: Path) -> None:
    changed(pack, lambda values: values.update(extra=1))
    assert refusal(pack) == "unexpected"


def test_a_number_beyond_all_numbers_is_refused(pack: Path) -> None:
    lines = gzip.decompress(pack.read_bytes()).splitlines(keepends=True)[:-1]
    lines[0] = lines[0].replace(b'"machine":{', b'"machine":{"x":1e999,', 1)
    sealed(pack, lines)
    assert refusal(pack) == "unexpected"


def test_the_label_of_a_strangers_run_gives_way_to_ones_own(store: Store, pack: Path, tmp_path: Path) -> None:
    with Store.open(tmp_path / "own.sqlite") as own, unpacked(pack) as (opened, run_id):
        settings = settings_of("20260101-aaaa")
        own.create_run(settings, MACHINE, VERSIONS, {LABELS: ["v1"]})
        adopt(own, opened, run_id)
        assert own.resolve("v1") == "20260101-aaaa"
        remove_runs(own, ["20260101-aaaa"])
        assert own.resolve("v1") == RUN
