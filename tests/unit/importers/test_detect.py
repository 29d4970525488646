"""From paths to observations: every fixture is known by one importer, and what is not known is said in words."""

import gzip
import shutil
from pathlib import Path

import pytest

from support.refused import Part, has, refused
from tdelta.errors import ImportFault
from tdelta.importers.conditions import parse_arguments
from tdelta.importers.detect import IMPORTERS, WITH_TIMES, read_files, recognize
from tdelta.importers.formats import FORMATS, format_lines
from tdelta.importers.importer import Naming
from tdelta.importers.reading import FileSource, total_bytes
from tdelta.messages import Refusal
from tdelta.records.observed import Observation, Samples, Series, Summary

from .files import FIXTURES, all_of, fixtures


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.name)
def test_every_fixture_is_known_by_exactly_one_importer(path: Path) -> None:
    source = FileSource(path)
    found = [importer for importer in IMPORTERS if importer.recognizes(source)]
    assert len([it for it in found if not it.is_general] or found) == 1


COLUMNS = {"wide.csv": "plain queries (tps)"}
"""Where one of a file's columns must be chosen, since the condition is given."""


@pytest.mark.parametrize("path", fixtures(), ids=lambda path: path.name)
def test_every_fixture_gives_observations_of_its_condition(path: Path) -> None:
    source = FileSource(path)
    found = list(recognize(source)[0].read(source, Naming("plain", "3", unit="ms", column=COLUMNS.get(path.name))))
    assert found
    assert all(it.group.condition for it in found)
    assert {it.origin.file for it in found} == {str(path)}


def test_every_importer_has_fixtures_and_a_name_of_its_own() -> None:
    names = [importer.name for importer in IMPORTERS]
    assert len(set(names)) == len(names)
    assert {recognize(FileSource(path))[0].name for path in fixtures()} == set(names)


def test_of_every_format_it_is_known_what_has_response_times() -> None:
    assert {importer.name for importer in IMPORTERS} == set(WITH_TIMES)
    assert all(WITH_TIMES.values())


def test_the_registry_has_each_tool_once_and_lists_them_all() -> None:
    tools = [it.tool for it in FORMATS]
    assert len({it.lower() for it in tools}) == len(tools)
    assert all(line.startswith(tool) for line, tool in zip(format_lines(), tools, strict=True))


def copied(folder: Path, **files: str) -> Path:
    """Fixtures under other names: ``copied(folder, plain__run1_txt="sysbench/…")``."""
    for name, fixture in files.items():
        path = folder / name.replace("__", "/").replace("_txt", ".txt").replace("_csv", ".csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FIXTURES / fixture, path)
    return folder


def test_a_folder_is_read_as_a_whole(tmp_path: Path) -> None:
    report = "sysbench/sysbench-1.0.20-time.txt"
    copied(tmp_path, plain__run1_txt=report, plain__run2_txt=report, tde__run1_txt=report)
    summaries = all_of(list(read_files(parse_arguments([tmp_path]))), Summary)
    assert [(it.group.condition, it.group.run) for it in summaries] == [("plain", "1"), ("plain", "2"), ("tde", "1")]


def test_names_are_a_level_where_the_files_do_not_tell_their_configurations_apart(tmp_path: Path) -> None:
    text = (FIXTURES / "sysbench/sysbench-0.5.txt").read_text()
    for condition in ("plain", "tde"):
        for threads in (16, 64):
            for folder in ("own", "alike"):
                path = tmp_path / folder / condition / f"t{threads}.txt"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace("threads: 16", f"threads: {threads if folder == 'own' else 16}"))
    levels = [
        {it.group.levels for it in read_files(parse_arguments([tmp_path / folder]))} for folder in ("own", "alike")
    ]
    assert levels[0] == {(("threads", 16),), (("threads", 64),)}
    assert levels[1] == {(("name", f"t{threads}"), ("threads", 16)) for threads in (16, 64)}


def test_gzip_is_read_whatever_its_name(tmp_path: Path) -> None:
    for name in ("plain.txt", "tde.txt"):
        text = (FIXTURES / "pgbench" / "pgbench-9.6.txt").read_bytes()
        (tmp_path / name).write_bytes(gzip.compress(text) if name == "tde.txt" else text)
    plain, tde = all_of(list(read_files(parse_arguments([tmp_path]))), Summary)
    assert (plain.mean, plain.count) == (tde.mean, tde.count)


def test_what_the_user_says_is_the_condition(tmp_path: Path) -> None:
    copied(tmp_path, one_txt="sysbench/sysbench-0.5.txt", two_txt="sysbench/sysbench-0.5.txt")
    said = [f"none={tmp_path}/one*", f"aes={tmp_path}/two*"]
    found = all_of(list(read_files(parse_arguments(said))), Summary)
    assert [it.group.condition for it in found] == ["none", "aes"]


def test_the_logs_of_threads_are_one_run(tmp_path: Path) -> None:
    for condition in ("plain", "tde"):
        (tmp_path / condition).mkdir()
        for thread, rows in (("", 30), (".1", 20)):
            text = "".join(f"0 {number} {500 + number} 0 1795320675 {number}\n" for number in range(rows))
            (tmp_path / condition / f"pgbench_log.4711{thread}").write_text(text)
    found = list(read_files(parse_arguments([tmp_path])))
    assert [(it.group.condition, it.count) for it in all_of(found, Samples)] == [("plain", 50), ("tde", 50)]


def test_aggregates_of_threads_add_up(tmp_path: Path) -> None:
    for condition in ("plain", "tde"):
        (tmp_path / condition).mkdir()
        for thread in ("", ".1"):
            shutil.copy(
                FIXTURES / "pgbench" / "aggregate-10-rate.log", tmp_path / condition / f"pgbench_log.4711{thread}"
            )
    found = list(read_files(parse_arguments([tmp_path])))
    single = list(
        recognize(source := FileSource(FIXTURES / "pgbench" / "aggregate-10-rate.log"))[0].read(source, Naming("x"))
    )
    assert all_of(found, Series)[0].values == tuple(2 * value for value in all_of(single, Series)[0].values)
    both, one = all_of(found, Summary)[0], all_of(single, Summary)[0]
    assert (both.count, both.mean) == (2 * one.count, pytest.approx(one.mean))
    assert both.sd == pytest.approx(one.sd, rel=1e-3)


def test_conditions_in_a_column_need_no_names(tmp_path: Path) -> None:
    copied(tmp_path, anything_csv="csv/samples.csv")
    assert {it.group.condition for it in read_files(parse_arguments([tmp_path / "anything.csv"]))} == {
        "none",
        "aes-256",
    }


def test_what_is_no_result_in_a_folder_is_left_out_and_told(tmp_path: Path) -> None:
    copied(tmp_path, plain_txt="sysbench/sysbench-0.5.txt", tde_txt="sysbench/sysbench-0.5.txt")
    (tmp_path / "my.cnf").write_text("[mysqld]\ninnodb_buffer_pool_size=5G\n")
    (tmp_path / "empty.log").write_text("")
    told: list[Refusal] = []
    assert len(all_of(list(read_files(parse_arguments([tmp_path]), on_refusal=told.append)), Summary)) == 2
    assert len(told) == 2
    assert any("my.cnf" in words.text for words in told)


def test_a_file_that_the_user_named_must_be_a_result(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("\x1b[1mTo do: measure\n" * 50)
    (tmp_path / "archive.zip").write_bytes(b"PK\x03\x04\0\0")
    with pytest.raises(ImportFault) as caught:
        list(read_files(parse_arguments([tmp_path / "notes.txt", tmp_path / "archive.zip", tmp_path / "missing"])))
    assert has(caught.value.refusals, "unreadable", where="missing")
    with pytest.raises(ImportFault) as caught:
        list(read_files(parse_arguments([tmp_path / "notes.txt", tmp_path / "archive.zip"])))
    begins = Part(r"'\x1b[1mTo do: measure'")
    assert has(
        caught.value.refusals, "unexpected", where="notes.txt", found=begins, expected="results of a known format"
    )
    assert has(
        caught.value.refusals,
        "unexpected",
        where="archive.zip",
        found=Part("zip"),
        expected="results of a known format",
    )
    assert all(it.tool in str(caught.value) for it in FORMATS)


def test_a_folder_without_any_results_says_why(tmp_path: Path) -> None:
    (tmp_path / "my.cnf").write_text("[mysqld]\n")
    with refused(ImportFault, "unexpected", "formats", where=("my.cnf", None), formats=(None, Part("results"))):
        list(read_files(parse_arguments([tmp_path])))


def test_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    for name in ("plain.csv", "tde.csv"):
        (tmp_path / name).write_text("response_ms\n1\n2\nx\n")
    with pytest.raises(ImportFault) as caught:
        list(read_files(parse_arguments([tmp_path])))
    assert len(str(caught.value).splitlines()) == 2


def test_a_file_that_looks_like_two_formats_is_refused(tmp_path: Path) -> None:
    texts = [(FIXTURES / name).read_text() for name in ("sysbench/sysbench-0.5.txt", "pgbench/pgbench-9.6.txt")]
    path = tmp_path / "both.txt"
    path.write_text("".join(texts))
    with refused(ImportFault, "several-formats", formats=Part("pgbench"), first="sysbench", where=path):
        recognize(FileSource(path))


def test_progress_ends_at_the_files_bytes(tmp_path: Path) -> None:
    copied(tmp_path, plain_txt="sysbench/sysbench-0.5.txt", tde_txt="sysbench/sysbench-0.5.txt")
    told: list[int] = []
    found: list[Observation] = list(read_files(parse_arguments([tmp_path]), progress=told.append))
    assert found
    assert sum(told) == total_bytes([tmp_path])
