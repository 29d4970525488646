"""The scanner says what Python's own search says, whatever the bytes, the files and the threads."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tdelta import _native

FEW_BYTES = st.lists(st.sampled_from([b"\0", b"a", b"b", b"\xff"]), max_size=60).map(b"".join)
NEEDLES = st.lists(FEW_BYTES.map(lambda text: text[:4]).filter(bool), min_size=1, max_size=6)


def places(content: bytes, needle: bytes) -> list[int]:
    return [at for at in range(len(content)) if content.startswith(needle, at)]


@given(FEW_BYTES, NEEDLES)
def test_bytes_in_memory_are_counted_overlaps_included(content: bytes, needles: list[bytes]) -> None:
    assert _native.search_bytes(content, needles) == [len(places(content, needle)) for needle in needles]


@settings(max_examples=50)
@given(st.lists(FEW_BYTES, max_size=5), NEEDLES, st.integers(0, 4))
def test_files_are_searched_alike_by_any_number_of_threads(
    contents: list[bytes], needles: list[bytes], threads: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, str(number)) for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        found = _native.search_files(paths, needles, threads)
    for one, content in zip(found, contents, strict=True):
        all_places = [places(content, needle) for needle in needles]
        assert one["matches"] == [len(where) for where in all_places]
        assert one["first_offsets"] == [min(where, default=None) for where in all_places]
        assert (one["size_bytes"], one["scanned_bytes"], one["fault"]) == (len(content), len(content), None)
