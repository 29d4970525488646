import pytest

from tdelta.evidence import FileClass, file_class


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.db", FileClass.DATABASE),
        ("a.db-wal", FileClass.WAL),
        ("a.db-journal", FileClass.JOURNAL),
        ("a.db-shm", FileClass.OTHER),
        ("etilqs_8f2a1b", FileClass.TEMP),
        ("b.db", FileClass.OTHER),
        ("a.db2", FileClass.OTHER),
    ],
)
def test_a_files_name_tells_its_class(name: str, expected: FileClass) -> None:
    assert file_class(name, "a.db") is expected


def test_a_file_without_a_name_is_temporary_unless_it_is_the_database_or_a_standard_stream() -> None:
    assert file_class("#395564", "a.db", is_unlinked=True) is FileClass.TEMP
    assert file_class("a.db-journal", "a.db", is_unlinked=True) is FileClass.JOURNAL
    assert file_class("#395564", "a.db", is_unlinked=True, is_stream=True) is FileClass.OTHER
