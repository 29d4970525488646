"""``tdelta run --restore CMD`` with a MySQL server: a dump of a user's, and statements that only the engine reads."""

from pathlib import Path
from shutil import which

from support.own_scripts import write_workload
from support.running import Place, require, waited_for
from tdelta.engines.shared.private.binaries import find_servers

from .own import INSTALL, programs

PATIENCE_SECONDS = 800.0
DUMP = """
CREATE TABLE orders (id INT PRIMARY KEY, total INT NOT NULL);
INSERT INTO orders WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i * 7 FROM n;
CREATE PROCEDURE raise_total(IN wanted INT) UPDATE orders SET total = total + 1 WHERE id = wanted;
DELIMITER //
CREATE PROCEDURE look(IN wanted INT) BEGIN SELECT total FROM orders WHERE id = wanted; SELECT wanted; END//
"""
SCRIPTS = {
    "raise": r"""
\set id random(:min_orders, :max_orders)
BEGIN;
\raw writes
CALL raise_total(:id);
SELECT total FROM orders WHERE id = :id;
COMMIT;
""",
    "look": r"""
\set id random(:min_orders, :max_orders)
\raw
CALL look(:id);
\raw into total
TABLE orders ORDER BY id LIMIT 1 \gset it_
SELECT :it_total;
""",
}


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
