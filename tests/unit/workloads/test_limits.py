"""What a hostile folder meets: a limit, with file and line, before anything grows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tdelta.workloads import limits
from tdelta.workloads.toml_lines import deepest_line, key_lines

from .test_folder import LOOK, TOML, change, faults, folder

__all__ = ["folder"]


@pytest.mark.parametrize("name", ["workload.toml", "schema.sql", "look.sql"])
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_what_is_not_a_regular_file_is_neither_read_nor_waited_for(folder: Path, name: str, kind: str) -> None:
    (folder / name).unlink()
    match kind:
        case "device":
            (folder / name).symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(folder / name)
        case _:
            (folder / name).mkdir()
    found = {"device": "a device", "pipe": "a named pipe", "folder": "a folder"}[kind]
    assert f"{name}: cannot be read: expected a regular file, found {found}" in faults(folder)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("SELECT 1;\n" * (limits.MOST_PIECES + 1), f"look.sql:{limits.MOST_PIECES + 1}: expected at most"),
        ("SELECT 1;\n" * 200_000, "look.sql: expected at most 1 MiB, found more"),
        (f"SELECT\n{'1,' * limits.LONGEST_STATEMENT}1;", "look.sql:1: expected a statement of at most 65536 char"),
        (f"SELECT 1;\nSELECT {'(' * 3000}1{')' * 3000};", "look.sql:2: expected at most 30 parentheses"),
        (f"SELECT {'CASE WHEN 1 THEN ' * 900}1{' END' * 900};", "look.sql:1: this SQL cannot be read: it is nested"),
        (f"\\set a {'(' * 3000}1{')' * 3000}\nSELECT :a;", "look.sql:1: expected at most 30 parentheses"),
        (f"\\set a {'-' * 200}1\nSELECT :a;", "look.sql:1: in the expression"),
        (f"\\set a 1{'+1' * 30_000}\nSELECT :a;", "look.sql:1: in the expression"),
        (f"\\set a {'9' * 5000}\nSELECT :a;", "look.sql:1: in the expression"),
        ("SELECT 1;\nSELECT 'a\0b';", "look.sql:2: expected text, found a zero byte"),
        ("/*" * 200_000, "look.sql:1: /* is opened here and never closed"),
        (f"SELECT date({chr(39)}{'now' + chr(39)} * 9000;", "look.sql:1: this SQL cannot be read"),
    ],
)
def test_a_script_beyond_a_limit_is_refused_by_its_line(folder: Path, text: str, fault: str) -> None:
    (folder / "look.sql").write_text(text, encoding="utf-8")
    found = faults(folder)
    assert any(said.startswith(fault) for said in found), [said[:200] for said in found]


def test_text_that_is_not_utf_8_is_refused_by_its_line(folder: Path) -> None:
    (folder / "look.sql").write_bytes(LOOK.encode() + b"-- \xff\n")
    assert "look.sql:3: expected UTF-8 text, found the byte 0xff" in faults(folder)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("rows_per_scale = 10\n", "rows_per_scale = inf\n", "workload.toml:12: rows_per_scale must be a number above"),
        ("rows_per_scale = 10\n", "rows_per_scale = nan\n", "workload.toml:12: rows_per_scale must be a number above"),
        ("rows_per_scale = 10\n", "rows_per_scale = 1e18\n", "workload.toml:12: rows_per_scale must be a number above"),
        ("rows_per_scale = 10\n", "rows = 9223372036854775807\n", "workload.toml:12: rows must be a whole number"),
        ("rows_per_scale = 10\n", "rows = 900000000\n", "workload.toml:8: fixed_bytes must be at least"),
        ("rows_per_scale = 10\n", f"rows = 0x{'f' * 9000}\n", "workload.toml:12: rows must be a whole number"),
        ("rows_per_scale = 10\n", f"rows = {'9' * 9000}\n", "workload.toml: TOML that cannot be read"),
        ("count = 3", "count = 1099511627776", "workload.toml:18: expected at most 1099511627776 rows at scale 1"),
        ("bytes_per_scale = 1000", "bytes_per_scale = 1", "workload.toml:9: bytes_per_scale must be at least"),
        ("bytes_per_scale = 1000", "bytes_per_scale = true", "workload.toml:9: bytes_per_scale must be a whole"),
        ("max = 9 }", "max = 2000000000 }", "workload.toml:11: expected rows of at most 65536 bytes"),
        ("weight = 2.5", "weight = 1e308", "workload.toml:28: weight must be a number of 1e-09 to 1e+09"),
        ("weight = 2.5", f"weight = 1\nx = {'[' * 3000}{']' * 3000}", "workload.toml:29: expected at most 30 brackets"),
        ('name = "mine"', 'name = "\\u001b[31m"', "workload.toml:1: name must be one line of at most 200 printable"),
        ("version = 1", "version = 99999999999999999999", "workload.toml:2: version must be an integer of 64 bits"),
    ],
)
def test_a_number_beyond_a_limit_is_refused_by_its_line(folder: Path, old: str, new: str, fault: str) -> None:
    change(folder, "workload.toml", old, new)
    found = faults(folder)
    assert any(said.startswith(fault) for said in found), found


def test_very_many_faults_are_counted_and_not_all_listed(folder: Path) -> None:
    (folder / "look.sql").write_text("SELECT :nobody;\n" * 1000, encoding="utf-8")
    found = faults(folder)
    assert len(found) == limits.MOST_FAULTS + 1
    assert found[-1] == "and 900 more"


def test_more_tables_than_a_folder_may_have_are_refused(folder: Path) -> None:
    more = "".join(f"[transactions.t{number}]\n" for number in range(limits.MOST_ENTRIES))
    (folder / "workload.toml").write_text(TOML + more, encoding="utf-8")
    assert any("expected at most 1000 in transactions, found 1001" in said for said in faults(folder))


def test_a_line_of_brackets_and_spaces_takes_no_time_to_look_at() -> None:
    assert key_lines(f"[{' ' * 500_000}\n[a]\n")[("a",)] == 2


def test_brackets_within_strings_and_comments_are_not_counted() -> None:
    text = f'a = "{"[" * 99}"\nb = """\n{"[" * 99}\n"""\n# {"[" * 99}\nc = [[[1]]]\n'
    assert deepest_line(text, 3) == 0
    assert deepest_line(text, 2) == 6


def test_a_fault_moves_no_cursor_and_is_of_a_length_that_can_be_read(folder: Path) -> None:
    (folder / "look.sql").write_text("\\set a random(\x1b[2J" * 9000 + "\nSELECT :a;\n", encoding="utf-8")
    found = faults(folder)
    assert all(said.isprintable() and len(said) < 2_000 for said in found)


def test_a_long_name_that_a_fault_gives_twice_is_shortened(folder: Path) -> None:
    schema = (folder / "schema.sql").read_text(encoding="utf-8")
    (folder / "schema.sql").write_text(f"{schema}CREATE TABLE t{'9' * 5_000} (id INT);\n", encoding="utf-8")
    found = [said for said in faults(folder) if "t999" in said]
    assert found
    assert all(len(said) < 2_000 for said in found)
