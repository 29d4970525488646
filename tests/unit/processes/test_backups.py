from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.errors import EnvironmentFault, UsageError
from tdelta.evidence import FileClass
from tdelta.processes.actions import Halt
from tdelta.processes.backups import (
    Backup,
    BackupRequest,
    BackupTool,
    EngineAction,
    Restore,
    backup_checks,
    choices_of,
    packed,
    tool_of,
    unpacked,
)
from tdelta.processes.pipelines import Programs
from tdelta.processes.protocol import Checksums
from tdelta.records import Usage

NEEDLE = b"sixteen bytes of"
ROWS = b"a row that repeats itself " * 4000
TOOLS = {"copy": BackupTool("a copy"), "dump": BackupTool("rows", is_logical=True)}


class Toy:
    def __init__(self, content: bytes, found: Checksums | None = None) -> None:
        self.content = content
        self.found = found or {"t": (2, "ab")}
        self.done: list[str] = []

    def start(self) -> None:
        self.done.append("start")

    def make(self, into: Path, compress: str, programs: Programs) -> Usage:
        self.done.append("make")
        assert into.stat().st_mode & 0o777 == 0o700
        (into / "file").write_bytes(self.content)
        return packed(programs, into / "file", into) if compress == "zstd" else Usage(1.5)

    def unpack(self, made: Path, compress: str, into: Path, programs: Programs) -> Path:
        if compress == "none":
            return made
        unpacked(programs, made, into)
        return into

    def class_of(self, name: str) -> FileClass:
        assert name == "file"
        return FileClass.TABLES

    def data_bytes(self) -> int:
        return 77

    def disk_bytes(self) -> int:
        return 66

    def checksums(self) -> Checksums:
        return {"t": (2, "ab")}

    def restore(self, made: Path, compress: str, into: Path, programs: Programs) -> Usage:
        self.done.append("restore")
        return Usage(2.5)

    def restored(self) -> Checksums:
        return self.found

    def let_go(self) -> None:
        self.done.append("release")


def request(folder: Path, tool: str = "copy", compress: str = "none") -> BackupRequest:
    return BackupRequest(TOOLS[tool], compress, folder / "backup", (NEEDLE,))


def test_a_backup_is_weighed_searched_and_removed(tmp_path: Path) -> None:
    toy = Toy(ROWS + NEEDLE)
    act = Backup(toy, request(tmp_path), Halt())
    act.prepare()
    assert act.perform().programs == Usage(1.5)
    assert act.inspect() == {
        "backup_data_bytes": 77,
        "backup_disk_bytes": 66,
        "backup_raw_bytes": len(ROWS) + 16,
        "backup_bytes": len(ROWS) + 16,
        "backup_is_logical": 0,
        "backup_markers_in_tables": 1,
    }
    act.undo()
    assert list(tmp_path.iterdir()) == []
    assert toy.done == ["start", "make", "release"]


def test_a_compressed_backup_is_weighed_and_searched_as_it_was_before(tmp_path: Path) -> None:
    act = Backup(Toy(ROWS + NEEDLE), request(tmp_path, compress="zstd"), Halt())
    act.prepare()
    assert act.perform().programs.cpu_user_seconds >= 0
    found = act.inspect()
    assert found["backup_raw_bytes"] == len(ROWS) + 16
    assert found["backup_bytes"] < len(ROWS) / 100
    assert found["backup_markers_in_tables"] == 1
    act.undo()


@pytest.mark.parametrize("digits", [NEEDLE.hex(), NEEDLE.hex().upper()])
def test_rows_of_a_logical_backup_are_found_in_digits_too(tmp_path: Path, digits: str) -> None:
    act = Backup(Toy(f"INSERT INTO t VALUES(x'{digits}');".encode()), request(tmp_path, "dump"), Halt())
    act.prepare()
    act.perform()
    assert act.inspect()["backup_markers_in_tables"] == 1
    act.undo()


def test_what_is_restored_must_have_the_rows_of_the_original(tmp_path: Path) -> None:
    act = Restore(Toy(ROWS), request(tmp_path), Halt())
    act.prepare()
    assert act.perform().programs == Usage(2.5)
    assert act.inspect() == {"rows_compared": 2, "backup_bytes": len(ROWS)}
    act.undo()
    act = Restore(Toy(ROWS, {"t": (1, "ab")}), request(tmp_path), Halt())
    act.prepare()
    with refused(EnvironmentFault, "restored-differs", tables="t"):
        act.inspect()
    act.undo()
    assert list(tmp_path.iterdir()) == []


def test_tools_and_compressions_are_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choices_of(TOOLS) == {"tool": ("copy", "dump"), "compress": ("none", "zstd")}
    assert tool_of({}, TOOLS) == ("copy", "none")
    packing = {**TOOLS, "own": BackupTool("its own", compresses=True)}
    assert choices_of(packing)["compress"] == ("none", "zstd", "own")
    actions = {"backup": EngineAction(Toy, tools=packing)}
    (check,) = backup_checks(actions, ("warm", "restart", "backup:compress=own"), ("nothing",))
    with refused(UsageError, "unsupported", by=Part("copy"), what="compress=own"):
        check()
    monkeypatch.setenv("PATH", "/nowhere")
    (check,) = backup_checks(actions, ("backup:tool=own:compress=zstd",), ())
    with refused(UsageError, "program-missing", program="zstd", remedy=Part("zstd")):
        check()
