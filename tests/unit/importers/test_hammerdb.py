from pathlib import Path

import pytest

from support.refused import Part, has, refused
from tdelta.errors import ImportFault
from tdelta.importers.detect import recognize
from tdelta.importers.hammerdb import IMPORTERS, NEW_ORDERS, result_in
from tdelta.importers.importer import Naming
from tdelta.importers.reading import FileSource
from tdelta.records.observed import Group

from .given import FIXTURES, changed, faulty, figures, read, written

FOLDER = FIXTURES / "hammerdb"
FOUR_USERS = (("threads", 4),)


@pytest.mark.parametrize(
    ("line", "nopm", "tpm"),
    [
        ("Vuser 1:TEST RESULT : System achieved 128176 NOPM from 298394 MariaDB TPM", 128176, 298394),
        ("TEST RESULT : System achieved 298394 MariaDB TPM at 128176 NOPM", 128176, 298394),
        ("TEST RESULT : System achieved 60501 SQL Server TPM at 13207 NOPM", 13207, 60501),
        ('  "TEST RESULT : System achieved 13207 NOPM from 60501 SQL Server TPM"', 13207, 60501),
    ],
)
def test_a_result_is_read_in_either_order(line: str, nopm: int, tpm: int):
    result = result_in(line)
    assert (result.nopm, result.tpm) == (nopm, tpm)


def test_a_result_is_throughput_a_second_and_its_users_are_a_level():
    observations = read(IMPORTERS, FOLDER / "result.json")
    assert figures(observations) == {
        Group("plain", NEW_ORDERS, "throughput", "/s", "1", FOUR_USERS): 2136,
        Group("plain", "all", "throughput", "/s", "1", FOUR_USERS): 4973,
    }
    assert {it.origin.line for it in observations} == {5}


def test_the_results_of_one_log_are_runs_of_their_own():
    observations = read(IMPORTERS, FOLDER / "console.log", Naming("tde", "7"))
    found = {(group.run, group.transaction): value for group, value in figures(observations).items()}
    assert found == {("7.1", NEW_ORDERS): 46, ("7.1", "all"): 110, ("7.2", NEW_ORDERS): 47, ("7.2", "all"): 112}


def test_a_result_that_is_said_twice_is_one_run(tmp_path: Path):
    text = (FOLDER / "result.json").read_text(encoding="utf-8")
    console = "Vuser 1:TEST RESULT : System achieved 128160 NOPM from 298380 MariaDB TPM\n"
    assert len(figures(read(IMPORTERS, written(tmp_path, console + text)))) == 2


def test_what_is_no_figure_is_named_with_its_line(tmp_path: Path):
    _, fault = faulty(IMPORTERS, changed(tmp_path, "hammerdb/result.json", "128160 NOPM", "NaN NOPM"))
    assert has([fault[0]], "unexpected", where="result.json:5", expected=Part("System achieved N"))


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "NEWORD": {\n    "elapsed_ms": "120000.0",\n    "ratio_pct": "51.33"\n  }\n}\n',
        '{\n  "MariaDB tpm": {\n    "2026-11-20 07:23:16": "131280"\n  }\n}\n',
        '{"schema":"hammerdb-job-report-v1","result":{"nopm":128160,"tpm":298380}}\n',
    ],
)
def test_other_answers_of_jobs_are_refused_with_the_one_that_is_read(tmp_path: Path, text: str):
    with refused(ImportFault, "unexpected", found=Part("use jobs ID result")):
        recognize(FileSource(written(tmp_path, text)))


def test_results_without_end_are_refused(tmp_path: Path):
    text = "".join(f"TEST RESULT : System achieved {n} NOPM from {n} MariaDB TPM\n" for n in range(1, 1100))
    assert has(faulty(IMPORTERS, written(tmp_path, text))[1], "too-many", most=1000)


def test_braces_of_others_in_a_log_are_passed_over(tmp_path: Path):
    text = (FOLDER / "result.json").read_text(encoding="utf-8")
    assert len(read(IMPORTERS, written(tmp_path, "HammerDB CLI v4.6\n{ not JSON }\n{}\n{\n" + text))) == 2


def test_a_log_without_results_says_what_to_print(tmp_path: Path):
    _, fault = faulty(IMPORTERS, written(tmp_path, "HammerDB CLI v4.6\nVuser 1:RUNNING\n"))
    assert has(fault, "no-test-result", where="given")


def test_the_printed_script_is_no_result(tmp_path: Path):
    script = 'puts "TEST RESULT : System achieved $nopm NOPM from $tpm MariaDB TPM"\n'
    text = script + (FOLDER / "result.json").read_text(encoding="utf-8")
    assert len(read(IMPORTERS, written(tmp_path, text))) == 2
