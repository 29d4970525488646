from pathlib import Path
from shutil import which

from support.data import text_of
from support.own_scripts import write_workload
from support.running import Place, require, waited_for
from tdelta.engines.shared.private.binaries import find_servers

from .own import INSTALL, programs

PATIENCE_SECONDS = 800.0
DUMP = text_of("dumps/mysql.sql")
SCRIPTS = {name: text_of(f"workloads/procedures/{name}.sql") for name in ("raise", "look")}


def test_a_dump_is_restored_and_its_procedures_are_called(tmp_path: Path) -> None:
    require(programs() and which("mariadb"), INSTALL)
    (tmp_path / "dump.sql").write_text(DUMP)
    write_workload(tmp_path / "mine", SCRIPTS)
    (program, *_) = find_servers("mysql")
    asked = ("--engine", "mysql", "--server-binary", str(program.path), "--workload", "mine")
    command = "mariadb --no-defaults -u {user} -S {socket} {database} < dump.sql"
    started = Place(tmp_path).start("run", *asked, "--restore", command, "--dry-run", "--json")
    ran = waited_for(started, PATIENCE_SECONDS)
    assert ran.code == 0, ran.err
    assert {one["name"] for one in ran.document["transactions"]} == SCRIPTS.keys()
