import errno
import gzip
import os
from pathlib import Path

import pytest

from support.refused import Part, check_messages, coded, refused
from tdelta.design import stream
from tdelta.errors import EnvironmentFault, UsageError
from tdelta.evidence.reading import FileReading, ReadState, parse_markers, read_files, regular_files

TEXT = b"The customer Jane Q. Example lives in Nowhere Street 12. "


def noise(length: int, seed: int = 1) -> bytes:
    return stream(seed, "reading").bytes(length)


def read(path: Path, content: bytes, *markers: str) -> FileReading:
    path.write_bytes(content)
    (reading,) = read_files([path], parse_markers(markers))
    return reading


@pytest.mark.parametrize(
    ("content", "state"),
    [
        (b"", ReadState.EMPTY),
        (bytes(100_000), ReadState.EMPTY),
        (bytes(10), ReadState.EMPTY),
        (noise(1 << 20), ReadState.LOOKS_RANDOM),
        (noise(2000), ReadState.LOOKS_RANDOM),
        (noise(200), ReadState.MIXED),
        (TEXT * 1000, ReadState.PLAIN),
        (TEXT, ReadState.PLAIN),
        (gzip.compress(noise(50_000)), ReadState.PLAIN),
        (noise(1 << 20) + TEXT * 200 + noise(4096), ReadState.MIXED),
        (noise(1 << 20) + bytes(1 << 20), ReadState.LOOKS_RANDOM),
        (b"".join(number.to_bytes(8, "little") for number in range(40_000)), ReadState.PLAIN),
    ],
)
def test_the_state_of_a_file_is_what_its_bytes_show(tmp_path: Path, content: bytes, state: ReadState) -> None:
    assert read(tmp_path / "file", content).state is state


def test_a_file_of_random_bytes_is_not_taken_for_less_in_many_tries(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) for number in range(300)]
    for number, path in enumerate(paths):
        path.write_bytes(noise(30_000 + 997 * number, seed=number))
    assert {reading.state for reading in read_files(paths, ())} == {ReadState.LOOKS_RANDOM}


def test_a_marker_is_found_in_either_encoding_and_as_bytes(tmp_path: Path) -> None:
    content = (
        noise(70_000)
        + "Jane Q. Ü".encode("utf-16le")
        + noise(5000)
        + "Jane Q. Ü".encode()
        + b"\x00\x01\x02\x03\x04\xff"
    )
    reading = read(tmp_path / "file", content, "Jane Q. Ü", "hex:0001020304FF", "hex:0001020304FE")
    assert reading.state is ReadState.PLAIN
    assert [(found.marker, found.encoding, found.count) for found in reading.markers] == [
        ("Jane Q. Ü", "utf-8", 1),
        ("Jane Q. Ü", "utf-16le", 1),
        ("hex:0001020304FF", "bytes", 1),
    ]
    assert reading.markers[1].first_offset == 70_000


def test_a_marker_that_another_one_begins_with_is_found_as_well(tmp_path: Path) -> None:
    reading = read(tmp_path / "file", noise(5000) + b"secret-key", "secret", "secret-key")
    assert {found.marker: found.count for found in reading.markers} == {"secret": 1, "secret-key": 1}


def test_a_header_that_stands_before_either_leaves_it_to_the_bytes(tmp_path: Path) -> None:
    log = b"\x37\x7f\x06\x82" + bytes(28)
    hidden = read(tmp_path / "hidden", log + noise(100_000))
    plain = read(tmp_path / "plain", log + (TEXT + bytes(100)) * 700)
    assert (hidden.state, plain.state) == (ReadState.LOOKS_RANDOM, ReadState.PLAIN)
    assert hidden.reasons[0] == "header: SQLite write-ahead log"


def test_a_database_that_says_it_is_encrypted_says_something_though_its_front_is_clear(tmp_path: Path) -> None:
    head = (noise(8) + b"DUCK" + (64).to_bytes(8, "little") + (1).to_bytes(8, "little")).ljust(12_288, b"\0")
    reading = read(tmp_path / "file", head + noise(8192))
    assert (reading.state, reading.says_something) == (ReadState.ENCRYPTED, True)


def test_reading_changes_neither_content_nor_times_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(TEXT * 100)
    os.utime(path, ns=(1_000_000_000, 2_000_000_000))
    read_files(regular_files(tmp_path), parse_markers(["Jane Q. Example"]))
    found = path.stat()
    assert (found.st_atime_ns, found.st_mtime_ns) == (1_000_000_000, 2_000_000_000)
    assert (path.read_bytes(), [entry.name for entry in tmp_path.iterdir()]) == (TEXT * 100, ["a.db"])


def test_a_folder_is_read_to_its_depths_but_for_links_and_special_files(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("b", "deep/a", "deep/er/c"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "link").symlink_to("b")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert [str(path.relative_to(tmp_path)) for path in regular_files(tmp_path)] == ["b", "deep/a", "deep/er/c"]
    assert regular_files(tmp_path / "link") == (tmp_path / "link",)


def test_a_device_is_refused() -> None:
    with refused(UsageError, "path-unusable", path="/dev/null"):
        regular_files(Path("/dev/null"))


def test_every_file_and_folder_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "other", "fine"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    refused = {str(tmp_path / name) for name in ("one", "other", "folder")}
    openers = {"open": os.open, "scandir": os.scandir}  # modes would not do: whoever tests as root may read everything

    def refusing(name):
        def opened(path, *arguments):
            if str(path) in refused:
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return openers[name](path, *arguments)

        return opened

    for name in openers:
        monkeypatch.setattr(os, name, refusing(name))
    with pytest.raises(EnvironmentFault) as raised:
        regular_files(tmp_path)
    check_messages(raised.value.refusals, "files-not-readable", files=3)
    told = str(raised.value)
    assert all(f"{path}: Permission denied" in told for path in refused)
    assert "fine" not in told


def test_files_that_fail_while_they_are_read_are_all_named(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one", "other")]
    for path in paths:
        path.mkdir()
    with refused(EnvironmentFault, "files-not-readable", files=2, listed=Part("/other: ")):
        read_files(paths, ())


def test_a_file_that_is_gone_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(TEXT)
    readings = read_files([tmp_path / "gone", tmp_path / "here"], parse_markers(["Jane Q. Example"]))
    assert [reading.path.name for reading in readings] == ["here"]
    assert read_files([], ()) == ()


def test_all_markers_that_are_none_are_named_at_once() -> None:
    with refused(
        UsageError,
        coded("out-of-range", wanted=Part("6"), found=5, where="--marker 'short'", what="a marker"),
        coded("unexpected", where="--marker 'hex:00zz'", expected="hexadecimal digits after hex:"),
        coded("out-of-range", wanted=Part("6"), found=2, where="--marker 'hex:0011'", what="a marker"),
    ):
        parse_markers(["short", "hex:00zz", "hex:0011", "long enough"])


def test_whoever_watches_is_told_both_stages_and_an_exception_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(1 << 42)
        for offset in range(0, 1 << 33, 1 << 20):
            file.seek(offset)
            file.write(b"x")
    stages = []

    def tick(stage: str, done: int) -> None:
        stages.append((stage, done))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_files([path], parse_markers(["Jane Q. Example"]), tick)
    assert [stage for stage, _ in stages] == ["bytes"]


def test_a_file_of_the_kernels_whose_head_cannot_be_read_is_no_internal_error() -> None:
    (found,) = read_files([Path("/proc/self/mem")], ())
    assert (found.size_bytes, found.header) == (0, None)
