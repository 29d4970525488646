import csv
import errno
import gzip
import hashlib
import io
import json
import os
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support import samples as s
from support.texts import has_no_answer
from tdelta.cli import formats
from tdelta.cli.formats import FORMATS
from tdelta.cli.main import cli, guarded
from tdelta.cli.output import silence
from tdelta.messages import Refusal
from tdelta.records import RunResult
from tdelta.store import Store

from .calling import Called, call, stored


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


def show(store: Path, *arguments: str) -> Called:
    return call("show", *arguments, "--store", str(store))


def test_show_writes_each_format_to_standard_output_and_ends_with_the_code_of_the_run(store: Path) -> None:
    for name in FORMATS:
        done = show(store, "--format", name)
        assert (done.code, bool(done.out), done.err) == (3, True, "")


def test_each_text_goes_to_a_file_too(store: Path, tmp_path: Path) -> None:
    for name in ("json", "csv", "junit", "markdown"):
        target = tmp_path / name
        assert (show(store, "--format", name, "--output", str(target)).out, target.is_file()) == ("", True)
    assert json.loads((tmp_path / "json").read_text(encoding="utf-8"))["run_id"] == s.RUN_ID
    assert ET.parse(tmp_path / "junit").getroot().get("failures") == "1"


@pytest.mark.parametrize("name", ["junit", "markdown"])
def test_export_of_a_format_of_answers_is_what_show_gives(store: Path, name: str) -> None:
    done = call("export", "--format", name, "--store", str(store))
    assert (done.code, done.out) == (0, show(store, "--format", name).out)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--json", "--format", "csv"), "conflict"),
        (("--output", "x"), "requires"),
        (("--step-summary",), "no-step-summary"),
    ],
)
def test_what_does_not_go_together_is_refused(
    store: Path, words: tuple[str, ...], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(formats.STEP_SUMMARY, raising=False)
    as_json = () if "--json" in words else ("--json",) if "--output" not in words else ()
    done = show(store, *words, *as_json)
    assert done.code == 2
    if done.out:
        assert [one["code"] for one in json.loads(done.out)["refusals"]] == [code]


def test_the_summary_of_a_step_is_appended_to(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "summary.md"
    target.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv(formats.STEP_SUMMARY, str(target))
    assert "UNDECIDED" in show(store, "--step-summary").out
    assert show(store, "--step-summary", "--format", "json").code == 3
    text = target.read_text(encoding="utf-8")
    assert text.startswith("before\n### ")
    assert text.count("\n### ") == 2


def test_a_summary_that_cannot_be_written_is_an_error(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(formats.STEP_SUMMARY, "/nowhere/summary.md")
    done = show(store, "--step-summary")
    assert (done.code, done.out) == (2, "")


def test_an_undecided_answer_passes_where_it_is_to(store: Path) -> None:
    assert show(store, "--undecided", "fail").code == 3
    done = show(store, "--undecided", "pass", "--json")
    assert (done.code, json.loads(done.out)["exit_code"], json.loads(done.out)["decision"]) == (0, 0, "undecided")
    junit = ET.fromstring(show(store, "--undecided", "pass", "--format", "junit").out)
    assert (junit.get("failures"), len(junit.findall(".//testcase/skipped"))) == ("0", 2)


@pytest.mark.parametrize(("run", "code"), [(s.over_budget(), 5), (s.invalid(), 4), (s.slower(), 0)])
def test_undecided_pass_changes_no_other_exit_code(tmp_path: Path, run: RunResult, code: int) -> None:
    assert show(stored(tmp_path / "other.sqlite", run), "--undecided", "pass").code == code
