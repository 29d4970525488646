from dataclasses import replace

from tdelta.engines.catalogue import EngineInfo
from tdelta.report.listings import dry_run_text, engines_document, engines_text, studies_text
from tdelta.session.outlook import TableLine

from .listed import ENGINES, OWN_PLAN, PLAN, STUDIES


def test_engines_that_can_be_tested_come_first_with_their_ciphers() -> None:
    lines = engines_text(ENGINES, 100).splitlines()
    assert lines[0] == "sqlite       3.51.0"
    assert "    ciphers: none, aes-256" in lines


def test_an_engine_that_is_missing_says_what_to_install() -> None:
    text = engines_text(ENGINES, 100)
    assert "duckdb       not available here" in text
    assert "    to install: pip install duckdb" in text
    assert "to install: nothing" not in text


def test_a_library_of_an_engine_is_listed_with_the_option_that_tests_it() -> None:
    library = EngineInfo("sqlite", True, "0.6.4", ("none",), "SQLCipher", "", "", "sqlcipher", "openssl")
    missing = EngineInfo("sqlite", False, None, ("none",), "SQLCipher", "pip install it", "", "sqlcipher", "openssl")
    assert engines_text((library,), 100).splitlines()[0] == "sqlite       0.6.4  (--library sqlcipher)"
    assert engines_text((missing,), 100).splitlines()[0] == "sqlite       not available here  (--library sqlcipher)"
    (listed,) = engines_document((library,))["engines"]  # type: ignore[misc]
    assert (listed["option"], listed["crypto"]) == ("sqlcipher", "openssl")


def test_studies_name_the_published_experiment_and_how_they_are_run() -> None:
    text = studies_text(STUDIES, 100)
    assert "order-entry: users at a shop\n    published: Oracle 12c, Swingbench\n" in text
    assert "warehouse: a fact table\n" in text
    assert "    needs a server" in text
    assert "    its command: tdelta analyze published:warehouse published:more\n" in text
    assert text.count("its command") == 1


def test_a_dry_run_says_minutes_disk_and_memory_with_what_is_free() -> None:
    lines = dry_run_text(PLAN, 100).splitlines()
    assert "40 s to 1 min 25 s, at least 54 trials; files go to /somewhere" in lines
    assert lines[4].split() == ["disk", "450.0", "MiB", "20.00", "GiB"]
    assert lines[5].split() == ["memory", "60.00", "MiB", "3.000", "GiB"]
    assert lines[-1] == "- the disk is nearly full"


def test_a_dry_run_on_a_database_shows_its_biggest_tables_and_each_transaction_with_its_share() -> None:
    lines = dry_run_text(OWN_PLAN, 100).splitlines()
    assert "database app.db: 25.00 MiB, 12 tables, 123,456 rows; only read" in lines
    assert [line.split() for line in lines if line.startswith("t0 ")] == [["t0", "10,000", "1.000", "MiB"]]
    assert "and 2 smaller tables" in lines
    assert not any(line.startswith("t11 ") for line in lines)
    at = lines.index("transactions (proposed)")
    assert lines[at + 1 : at + 6] == [
        " 70.0 %  read_t0: Read t0 by key",
        "         \\set id random(1, 9)",
        "         SELECT * FROM t0;",
        " 30.0 %  insert_t0: Insert into t0",
        "         INSERT INTO t0 VALUES (:op);",
    ]
    assert lines[lines.index("not proposed") + 1] == "- no update of table 't0'"
    assert "written to ./mine: edit it, then give it with --database and --workload ./mine" in lines


def test_a_dry_run_of_generated_rows_shows_no_database() -> None:
    assert "database" not in dry_run_text(PLAN, 100)
    assert "transactions" not in dry_run_text(PLAN, 100)


def test_a_name_cannot_move_the_cursor() -> None:
    hostile = replace(OWN_PLAN, tables=(TableLine("red\x1b[31m\n", 1, 1),), notes=("no insert into 'a\rb'",))
    text = dry_run_text(hostile, 100)
    assert "red?[31m?" in text
    assert "no insert into 'a?b'" in text
    assert "\x1b" not in text


def test_whether_the_aes_instructions_can_be_switched_off_is_told_with_the_reason() -> None:
    library = EngineInfo("sqlite", True, "1", ("none",), "SQLCipher", "", "", crypto="openssl")
    assert "    AES instructions: on, off" in engines_text((library,), 100, {"openssl": None}).splitlines()
    told = engines_text((library,), 100, {"openssl": "this CPU has none"})
    assert "AES instructions: on (off cannot be had here: this CPU has none)" in told
    assert "AES instructions" not in engines_text((library,), 100, {})
    levels = [
        engines_document((library,), reasons)["engines"][0]["aes_instructions"] for reasons in ({}, {"openssl": None})
    ]  # type: ignore[index]
    assert levels == [[], ["on", "off"]]
