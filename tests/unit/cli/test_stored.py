import csv
import errno
import gzip
import hashlib
import io
import json
import os
import sys
from pathlib import Path

import pytest

from support import samples as s
from support.texts import has_no_answer
from tdelta.cli.main import cli, guarded
from tdelta.cli.output import silence
from tdelta.messages import Refusal
from tdelta.store import Store

from .calling import call, stored


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return stored(tmp_path / "runs.sqlite", s.undecided(), trials=2)


@pytest.mark.parametrize("words", [("show",), ("show", "last"), ("show", s.RUN_ID[:8])])
def test_show_repeats_the_answer_and_its_exit_code(store: Path, words: tuple[str, ...]) -> None:
    done = call(*words, "--store", str(store))
    assert done.code == 3
    assert done.out.startswith("UNDECIDED: AES-256 makes")


def test_show_json_is_the_document_of_the_run(store: Path) -> None:
    values = json.loads(call("show", "--json", "--store", str(store)).out)
    assert (values["run_id"], values["decision"], values["exit_code"]) == (s.RUN_ID, "undecided", 3)


def test_an_unknown_run_is_a_usage_error(store: Path) -> None:
    done = call("show", "1999", "--store", str(store))
    assert (done.code, done.out) == (2, "")
    assert "unknown run 1999" in done.err


def test_export_writes_one_csv_row_a_trial_to_standard_output(store: Path) -> None:
    done = call("export", "--format", "csv", "--store", str(store))
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert (done.code, [row["cipher"] for row in rows]) == (0, ["none", "aes-256"])


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_an_export_that_standard_output_does_not_take_is_told(
    store: Path, file_format: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8", buffering=1) as full:
        monkeypatch.setattr(sys, "stdout", full)
        code = guarded(
            lambda: cli.main(["export", "--format", file_format, "--store", str(store)], standalone_mode=False)
        )
        silence(full)
    assert code == 2
    fault = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert capsys.readouterr().err == f"error: {Refusal.of('output-not-writable', fault=fault)}\n"


def test_export_asks_for_a_format(store: Path) -> None:
    assert "Missing option '--format'" in call("export", "--store", str(store)).err


def test_a_pack_answers_as_its_run_does(store: Path, tmp_path: Path) -> None:
    pack = tmp_path / "run.tdelta"
    assert call("pack", "last", "-o", str(pack), "--store", str(store)).out == f"{pack}\n"
    for words in (("show", "--quiet"), ("export", "--format", "csv"), ("show", "--json")):
        packed, stored = call(words[0], str(pack), *words[1:]), call(*words, "--store", str(store))
        assert (packed.code, packed.out) == (stored.code, stored.out)


def test_an_imported_run_is_shown_by_its_id_and_not_resumed(store: Path, tmp_path: Path) -> None:
    pack, other = tmp_path / "run.tdelta", str(tmp_path / "other.sqlite")
    call("pack", "-o", str(pack), "--store", str(store))
    shown = call("show", s.RUN_ID, "--store", str(store))
    assert call("import", str(pack), "--store", other).out == shown.out
    assert call("show", s.RUN_ID, "--store", other).out == shown.out
    with Store.open(Path(other)) as opened:
        opened._db.execute("UPDATE runs SET status = 'interrupted'")
        opened._db.execute("DELETE FROM seals")
    done = call("run", "--resume", s.RUN_ID, "--store", other, "--json")
    assert (done.code, json.loads(done.out)["refusals"][0]["code"]) == (2, "run-imported")


def test_a_pack_whose_page_cannot_be_made_is_not_put_into_the_store(store: Path, tmp_path: Path) -> None:
    pack, other = tmp_path / "run.tdelta", tmp_path / "other.sqlite"
    call("pack", "-o", str(pack), "--store", str(store))
    lines = gzip.decompress(pack.read_bytes()).splitlines(keepends=True)[:-1]
    head = json.loads(lines[0])
    head["result"]["verdicts"][0]["condition"]["levels"] = []
    text = b"".join((json.dumps(head, separators=(",", ":")).encode(), b"\n", *lines[1:]))
    last = json.dumps({"digest": hashlib.sha256(text).hexdigest()}, separators=(",", ":"))
    pack.write_bytes(gzip.compress(text + last.encode() + b"\n"))
    done = call("import", str(pack), "--store", str(other), "--json")
    assert (done.code, json.loads(done.out)["refusals"][0]["code"]) == (2, "pack-damaged")
    assert not other.exists()


def test_quiet_prints_the_sentence_alone_and_keeps_the_exit_code(store: Path) -> None:
    done = call("show", "--quiet", "--store", str(store))
    document = json.loads(call("show", "--json", "--store", str(store)).out)
    assert (done.code, done.out) == (3, f"{document['sentence']}\n")


def test_details_print_what_the_answer_leaves_out(store: Path) -> None:
    brief, full = (call("show", *words, "--store", str(store)).out for words in ((), ("--details",)))
    assert "repeat: " not in brief
    assert "repeat: " in full
    assert full.startswith(brief.split("\n\n")[0])


@pytest.mark.parametrize("other", ["--details", "--json"])
def test_quiet_goes_alone(store: Path, other: str) -> None:
    done = call("show", "--quiet", other, "--store", str(store))
    assert (done.code, has_no_answer(done.out)) == (2, True)
