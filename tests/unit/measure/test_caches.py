import ctypes
import mmap
import os

from tdelta.measure.caches import empty_page_cache

_PAGE = mmap.PAGESIZE


def _resident_pages(path):
    """How many pages of a file are in memory, as mincore(2) tells."""
    size = path.stat().st_size
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped:
        pages = (ctypes.c_ubyte * -(-size // _PAGE))()
        address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), pages) == 0
        found = sum(page & 1 for page in pages)
        del address
        return found


def test_files_of_a_folder_are_forgotten_and_keep_what_they_hold(tmp_path):
    path = tmp_path / "deep" / "rows.ibd"
    path.parent.mkdir()
    content = os.urandom(64 * _PAGE)
    path.write_bytes(content)
    assert _resident_pages(path) == 64
    empty_page_cache(tmp_path)
    assert _resident_pages(path) == 0
    assert path.read_bytes() == content


def test_a_folder_that_is_gone_is_no_fault(tmp_path):
    empty_page_cache(tmp_path / "gone")
