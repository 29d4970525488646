import pytest

from support.data import rows_of
from tdelta.engines.mariadb.driver import EVIDENCE as OF_MARIADB
from tdelta.engines.mysql.driver import EVIDENCE as OF_MYSQL
from tdelta.engines.postgres.server import EVIDENCE as OF_POSTGRES
from tdelta.engines.server.evidence import server_file_class
from tdelta.evidence import FileClass

FILES = {"mariadb": OF_MARIADB.files, "mysql": OF_MYSQL.files, "postgres": OF_POSTGRES.files}

PATHS = [(row["engine"], row["path"], FileClass[row["class"]]) for row in rows_of("file-classes.csv")]


@pytest.mark.parametrize(("kind", "path", "expected"), PATHS)
def test_a_path_tells_its_class(kind: str, path: str, expected: FileClass) -> None:
    assert server_file_class(FILES[kind], path) is expected


@pytest.mark.parametrize("kind", FILES)
def test_a_file_without_a_name_is_temporary_unless_its_name_said_what_it_was(kind: str) -> None:
    assert server_file_class(FILES[kind], "/var/lib/x/#395564", is_unlinked=True) is FileClass.TEMP
    kept = {"postgres": ("base/5/16384", FileClass.TABLES)}.get(kind, ("tdelta/orders.ibd", FileClass.TABLES))
    assert server_file_class(FILES[kind], kept[0], is_unlinked=True) is kept[1]
