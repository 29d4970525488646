from pathlib import Path
from shutil import which

import pytest

from support.codes import check_refused
from support.data import text_of
from support.own_scripts import write_workload
from support.running import Place, Ran, require, waited_for
from tdelta.engines.server.installed import find_servers

from .own import INSTALL, programs

PATIENCE_SECONDS = 800.0
DUMP = text_of("dumps/mysql.sql")
SCRIPTS = {name: text_of(f"workloads/procedures/{name}.sql") for name in ("raise", "look")}


def restored(folder: Path, dump: str, *asked: str) -> Ran:
    require(programs() and which("mariadb"), INSTALL)
    (folder / "dump.sql").write_text(dump)
    (program, *_) = find_servers("mysql")
    command = "mariadb --no-defaults -u {user} -S {socket} {database} < dump.sql"
    asked = ("--engine", "mysql", "--server-binary", str(program.path), "--restore", command, *asked, "--json")
    return waited_for(Place(folder).start("run", *asked), PATIENCE_SECONDS)


@pytest.mark.parametrize("option", ["ENCRYPTION='N'", "/*!80016 ENCRYPTION='N' */", "ENCRYPTION='Y'"])
def test_a_dump_that_says_which_tables_are_encrypted_is_refused_with_a_remedy(tmp_path: Path, option: str) -> None:
    table = f"CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9)) {option};\nINSERT INTO t VALUES (1, 'a');\n"
    ran = restored(tmp_path, table, "--max-time", "10m")
    check_refused(ran, "dump-encrypts", options="ENCRYPTION")


def test_a_dump_is_restored_and_its_procedures_are_called(tmp_path: Path) -> None:
    write_workload(tmp_path / "mine", SCRIPTS)
    ran = restored(tmp_path, DUMP, "--workload", "mine", "--dry-run")
    assert ran.code == 0, ran.err
    assert {one["name"] for one in ran.document["transactions"]} == SCRIPTS.keys()
