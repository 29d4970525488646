import mmap
from pathlib import Path

import pytest

from tdelta.measure import usage
from tdelta.measure.usage import PeakMemory

LARGE = 64 << 20


def test_a_peak_is_of_the_work_since_the_start() -> None:
    def work() -> None:
        with mmap.mmap(-1, LARGE) as pages:  # given back at once, whatever the allocator keeps
            for at in range(0, LARGE, mmap.PAGESIZE):
                pages[at] = 1

    meter = PeakMemory()
    meter.start()
    idle = meter.stop()
    meter.start()
    work()
    busy = meter.stop()
    meter.start()
    after = meter.stop()
    assert idle is not None
    assert busy is not None
    assert after is not None
    assert busy - idle > LARGE // 2
    assert busy - after > LARGE // 2


@pytest.mark.parametrize("missing", ["_CLEAR", "_STATUS"])
def test_a_kernel_that_does_not_tell_is_no_fault(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, missing, tmp_path / "no folder" / "file")
    meter = PeakMemory()
    meter.start()
    assert meter.stop() is None
