import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from support.refused import Coded, check_messages, coded
from tdelta.inputs import NotRegular, TextFault, opened, require_regular, size_words, text_of, written_to


def test_a_regular_file_is_read_through_links_and_with_any_line_ends(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb\rc\n")
    (tmp_path / "link").symlink_to("file")
    assert text_of(tmp_path / "link", 8) == "a\nb\nc\n"


def test_devices_pipes_folders_and_sockets_are_refused_by_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
        for path, kind in (
            (Path("/dev/zero"), "a device"),
            (tmp_path / "pipe", "a named pipe"),
            (tmp_path, "a folder"),
            (tmp_path / "socket", "a socket"),
        ):
            with pytest.raises(NotRegular) as refused:
                opened(path)
            assert refused.value.kind == kind


@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"123456789", 0, coded("too-large", most="8 bytes", what="the file")),
        (b"1\n2\n\xff", 3, coded("not-utf-8", byte=0xFF)),
        (b"1\n\0", 2, coded("unexpected", expected="text")),
    ],
)
def test_what_is_no_text_within_the_limit_is_refused(
    tmp_path: Path, content: bytes, line: int, said: str | Coded
) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(TextFault) as refused:
        text_of(tmp_path / "file", 8)
    assert refused.value.line == line
    check_messages([refused.value.said], said)


def test_sizes_are_given_in_their_largest_unit() -> None:
    assert [size_words(size) for size in (5, 2048, 1 << 20, 3 << 29)] == ["5 bytes", "2 KiB", "1 MiB", "1.5 GiB"]


def test_a_file_of_the_system_that_has_nothing_to_read_does_not_make_its_reader_wait(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with opened(tmp_path / "file") as file:
        assert not os.get_blocking(file.fileno())


def test_what_must_be_a_regular_file_is_looked_at_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    require_regular(tmp_path / "file")
    with pytest.raises(NotRegular):
        require_regular(tmp_path / "pipe")


def test_a_pipe_that_is_read_is_written_to_and_one_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe") as refused:
        written_to(tmp_path / "pipe")
    assert refused.value.errno == errno.ENXIO
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with written_to(tmp_path / "pipe") as out:
        assert os.get_blocking(out.fileno())
        out.write("é\n")
    assert os.read(reading, 9) == "é\n".encode()
    os.close(reading)


def test_a_disk_is_never_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = os.stat_result((stat.S_IFBLK | 0o660, *Path("/dev/null").stat()[1:]))
    monkeypatch.setattr(Path, "stat", lambda _path: seen)
    with pytest.raises(OSError, match="/dev/null") as refused:
        written_to(Path("/dev/null"))
    assert refused.value.errno is None  # not the system's
