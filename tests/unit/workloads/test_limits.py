import os
from pathlib import Path

import pytest

from support.refused import Coded, Part, check_messages, coded, has
from tdelta.workloads import limits
from tdelta.workloads.files import deepest_line, key_lines

from .test_folder import LOOK, TOML, change, faults, folder, toml

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
    assert has(faults(folder), "unreadable", where=name, fault=Part(found))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("SELECT 1;\n" * (limits.MOST_PIECES + 1), coded("too-many", most=2000, where="look.sql:2001")),
        ("SELECT 1;\n" * 200000, coded("too-large", most="1 MiB", where="look.sql", what="the file")),
        (f"SELECT\n{'1,' * limits.LONGEST_STATEMENT}1;", coded("too-many", most=65536, where="look.sql:1")),
        (f"SELECT 1;\nSELECT {'(' * 3000}1{')' * 3000};", coded("too-many", most=30, where="look.sql:2")),
        (f"SELECT {'CASE WHEN 1 THEN ' * 900}1{' END' * 900};", coded("statement-not-readable", where="look.sql:1")),
        (f"\\set a {'(' * 3000}1{')' * 3000}\nSELECT :a;", coded("too-many", most=30, where="look.sql:1")),
        (f"\\set a {'-' * 200}1\nSELECT :a;", coded("too-many", most=30, where=Part("look.sql:1: "))),
        (f"\\set a 1{'+1' * 30000}\nSELECT :a;", coded("too-many", most=300, where=Part("look.sql:1: "))),
        (f"\\set a {'9' * 5000}\nSELECT :a;", coded("too-large", where=Part("look.sql:1: "))),
        ("SELECT 1;\nSELECT 'a\x00b';", coded("unexpected", where="look.sql:2", expected="text")),
        ("/*" * 200000, coded("requires", where="look.sql:1", needs="its end")),
        (f"SELECT date({chr(39)}{'now' + chr(39)} * 9000;", coded("statement-not-readable", where="look.sql:1")),
    ],
)
def test_a_script_beyond_a_limit_is_refused_by_its_line(folder: Path, text: str, fault: Coded) -> None:
    (folder / "look.sql").write_text(text, encoding="utf-8")
    found = faults(folder)
    assert has(found, fault), found


def test_text_that_is_not_utf_8_is_refused_by_its_line(folder: Path) -> None:
    (folder / "look.sql").write_bytes(LOOK.encode() + b"-- \xff\n")
    assert has(faults(folder), "not-utf-8", byte=0xFF, where="look.sql:3")


ROWS = "rows_per_scale = 10\n"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (ROWS, "rows_per_scale = inf\n", toml(12, "out-of-range", what="rows_per_scale", found="inf")),
        (ROWS, "rows_per_scale = nan\n", toml(12, "out-of-range", what="rows_per_scale", found="nan")),
        (ROWS, "rows_per_scale = 1e18\n", toml(12, "out-of-range", what="rows_per_scale", found="1e+18")),
        (ROWS, "rows = 9223372036854775807\n", toml(12, "out-of-range", what="rows", found="9223372036854775807")),
        (ROWS, "rows = 900000000\n", toml(8, "size-too-small", key="fixed_bytes", found=0)),
        (ROWS, f"rows = 0x{'f' * 9000}\n", toml(12, "out-of-range", what="rows")),
        (ROWS, f"rows = {'9' * 9000}\n", coded("invalid", where="workload.toml", kind="TOML")),
        ("count = 3", "count = 1099511627776", toml(18, "too-many", what="rows at scale 1")),
        ("bytes_per_scale = 1000", "bytes_per_scale = 1", toml(9, "size-too-small", key="bytes_per_scale", found=1)),
        (
            "bytes_per_scale = 1000",
            "bytes_per_scale = true",
            toml(9, "out-of-range", found="True", what="bytes_per_scale"),
        ),
        ("max = 9 }", "max = 2000000000 }", toml(11, "too-large", most=Part("65536"), what="a row")),
        ("weight = 2.5", "weight = 1e308", toml(28, "out-of-range", found="1e+308", what="weight")),
        (
            "weight = 2.5",
            f"weight = 1\nx = {'[' * 3000}{']' * 3000}",
            toml(29, "too-many", most=30, what="levels of brackets"),
        ),
        ('name = "mine"', 'name = "\\u001b[31m"', toml(1, "out-of-range", what="name", found="'\\x1b[31m'")),
        (
            "version = 1",
            "version = 99999999999999999999",
            toml(2, "out-of-range", what="version", found="99999999999999999999"),
        ),
    ],
)
def test_a_number_beyond_a_limit_is_refused_by_its_line(folder: Path, old: str, new: str, fault: Coded) -> None:
    change(folder, "workload.toml", old, new)
    found = faults(folder)
    assert has(found, fault), found


def test_very_many_faults_are_counted_and_not_all_listed(folder: Path) -> None:
    (folder / "look.sql").write_text("SELECT :nobody;\n" * 1000, encoding="utf-8")
    found = faults(folder)
    assert len(found) == limits.MOST_FAULTS + 1
    check_messages(found[-1:], "more-faults", more=900)


def test_more_tables_than_a_folder_may_have_are_refused(folder: Path) -> None:
    more = "".join(f"[transactions.t{number}]\n" for number in range(limits.MOST_ENTRIES))
    (folder / "workload.toml").write_text(TOML + more, encoding="utf-8")
    assert has(faults(folder), "too-many", most=1000, what=Part("transactions"))


def test_a_line_of_brackets_and_spaces_takes_no_time_to_look_at() -> None:
    assert key_lines(f"[{' ' * 500_000}\n[a]\n")[("a",)] == 2


def test_brackets_within_strings_and_comments_are_not_counted() -> None:
    text = f'a = "{"[" * 99}"\nb = """\n{"[" * 99}\n"""\n# {"[" * 99}\nc = [[[1]]]\n'
    assert deepest_line(text, 3) == 0
    assert deepest_line(text, 2) == 6


def test_a_fault_moves_no_cursor_and_is_of_a_length_that_can_be_read(folder: Path) -> None:
    (folder / "look.sql").write_text("\\set a random(\x1b[2J" * 9000 + "\nSELECT :a;\n", encoding="utf-8")
    found = faults(folder)
    assert all(one.text.isprintable() and len(one.text) < 2_000 for one in found)


def test_a_long_name_that_a_fault_gives_twice_is_shortened(folder: Path) -> None:
    schema = (folder / "schema.sql").read_text(encoding="utf-8")
    (folder / "schema.sql").write_text(f"{schema}CREATE TABLE t{'9' * 5_000} (id INT);\n", encoding="utf-8")
    found = [one.text for one in faults(folder) if "t999" in one.text]
    assert found
    assert all(len(said) < 2_000 for said in found)
