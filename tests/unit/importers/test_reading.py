import gzip
import os
import random
from itertools import islice
from pathlib import Path

import pytest

from support.refused import Part, coded, refused
from tdelta.errors import ImportFault
from tdelta.importers import reading
from tdelta.importers.reading import FileSource, excerpt, expand, looks_binary, total_bytes


def lines_of(path: Path) -> list[tuple[int, str]]:
    return list(FileSource(path).text_lines())


def written(folder: Path, content: bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        ("käse\n".encode(), ["käse"]),
        (b"\n", [""]),
    ],
)
def test_lines_come_with_their_numbers_and_without_their_ends(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    plain = written(tmp_path, content)
    packed = written(tmp_path, gzip.compress(content), "file.gz")
    assert lines_of(plain) == lines_of(packed) == list(enumerate(lines, 1))


def test_lines_across_many_blocks_are_whole(tmp_path: Path) -> None:
    rows = [f"{number},{'x' * (number % 300)}" for number in range(20_000)]
    path = written(tmp_path, "\n".join(rows).encode())
    assert [text for _, text in lines_of(path)] == rows


def test_gzip_of_several_members_with_padding_is_read_to_its_end(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n") + b"\0" * 512)
    assert [text for _, text in lines_of(path)] == ["a", "bc", "d"]


def test_the_head_is_uncompressed_and_bounded(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"0123456789\n" * 100_000))
    assert FileSource(path).head == (b"0123456789\n" * 100_000)[: reading.HEAD_BYTES]


@pytest.mark.parametrize("cut", [5, 12, 30, 60])
def test_gzip_that_is_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    draw = random.Random(7)
    whole = gzip.compress(bytes(draw.randrange(32, 127) for _ in range(200)))
    path = written(tmp_path, whole[:cut])
    with refused(ImportFault, "unexpected", where=path, expected="complete gzip"):
        FileSource(path)


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    whole = bytearray(gzip.compress(b"a line\n" * 1000))
    whole[20] ^= 0xFF
    with refused(ImportFault, "unexpected", where="file.txt", expected="complete gzip"):
        lines_of(written(tmp_path, bytes(whole)))


def test_a_gzip_bomb_is_refused_long_before_it_is_inflated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "RATIO_MATTERS_FROM_BYTES", 1 << 20)
    path = written(tmp_path, gzip.compress((b"0" * 99 + b"\n") * 300_000))  # 30 MB in 30 kB
    lines = FileSource(path).text_lines()
    assert len(list(islice(lines, 10_000))) == 10_000
    with refused(ImportFault, "gzip-bomb", where=path):
        list(islice(lines, 10_000))


def test_honest_logs_shrink_to_a_twentieth_and_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "RATIO_MATTERS_FROM_BYTES", 1 << 10)
    draw = random.Random(3)
    rows = b"".join(b"none,Customer Registration,browse,%d.5\n" % draw.randrange(40) for _ in range(20_000))
    packed = gzip.compress(rows)
    assert 10 < len(rows) / len(packed) < reading.HIGHEST_RATIO
    assert len(lines_of(written(tmp_path, packed))) == 20_000


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE_BYTES", 1000)
    for content in (b"x" * 1001, b"a\n" + b"x" * 1001 + b"\nb\n"):
        with pytest.raises(ImportFault) as caught:
            lines_of(written(tmp_path, content))
        (refusal,) = caught.value.refusals
        assert refusal.code in ("too-large", "too-large")
        assert refusal.parameters["most"] == "1000 bytes"


def test_bytes_that_are_no_text_are_named_by_their_line(tmp_path: Path) -> None:
    with refused(ImportFault, "not-utf-8", byte=0xE9, where="file.txt:2"):
        lines_of(written(tmp_path, b"a\ncaf\xe9\nb\n"))
    with refused(ImportFault, "unexpected", where="file.txt:3", expected="text"):
        lines_of(written(tmp_path, b"a\nb\nc\0d\n"))


def test_content_is_bounded(tmp_path: Path) -> None:
    path = written(tmp_path, b"x" * 2000)
    assert FileSource(path).content(2000) == b"x" * 2000
    with refused(ImportFault, "too-large", most="1.952 KiB", where=path, what=Part("the file, read as a")):
        FileSource(path).content(1999)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    written(tmp_path, b"", "empty")
    for name, found in (
        ("missing", coded("unreadable", fault=Part("No such file"), where="missing")),
        ("", coded("unreadable")),
        ("pipe", coded("file-is-pipe", where="pipe")),
        ("empty", coded("file-empty", where="empty")),
        ("zero\0byte", coded("unreadable")),
    ):
        with refused(ImportFault, found):
            FileSource(tmp_path / name)


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"PK\x03\x04rest", "zip"),
        (b"\xff\xfea\0b\0", "UTF-16"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x7fELF\0\0", "binary"),
        (b"(\xb5/\xfd", "zstd"),
        (b"SQLite format 3\x00\x10\x00", "jobs ID result"),
    ],
)
def test_packed_and_binary_files_are_known_by_their_first_bytes(head: bytes, words: str) -> None:
    assert words in (looks_binary(head) or "")


def test_text_is_not_binary() -> None:
    assert looks_binary(b"condition,tps\n") is None


def test_a_folder_stands_for_its_files_in_order_without_hidden_ones(tmp_path: Path) -> None:
    for name in ("b/2.log", "b/10.log", "a/run1.log", ".git/config", "b/.hidden", "top.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    found = [str(path.relative_to(tmp_path)) for path, _ in expand([tmp_path])]
    assert found == ["top.txt", "a/run1.log", "b/10.log", "b/2.log"]
    assert not any(is_asked_for for _, is_asked_for in expand([tmp_path]))
    assert total_bytes([tmp_path]) == sum(len(name) for name in found)


def test_loops_of_links_end_and_a_file_is_taken_once(tmp_path: Path) -> None:
    written(tmp_path, b"x", "a.log")
    (tmp_path / "again").symlink_to(tmp_path)
    (tmp_path / "same.log").symlink_to(tmp_path / "a.log")
    assert len(expand([tmp_path, tmp_path / "a.log"])) == 1


def test_all_paths_that_are_wrong_are_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportFault) as caught:
        expand([tmp_path / "no", tmp_path / "empty", tmp_path / "neither"])
    assert len(str(caught.value).splitlines()) == 3


def test_what_is_quoted_is_escaped_and_cut() -> None:
    assert excerpt(b"\x1b[31mred\x00") == r"'\x1b[31mred\x00'"
    assert excerpt("x" * 200) == "'" + "x" * 80 + "…'"


def test_progress_adds_up_to_the_bytes_on_the_disk(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(b"a line\n" * 100_000), "log.gz")
    told: list[int] = []
    for _ in FileSource(path, progress=told.append).text_lines():
        pass
    assert sum(told) == path.stat().st_size
