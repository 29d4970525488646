import os
from pathlib import Path

from tdelta.engines.server.private_twin import device_statistics


def test_the_device_of_a_folder_is_found_by_its_number(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    device = tmp_path / "devices" / f"{os.major(number)}:{os.minor(number)}"
    device.mkdir(parents=True)
    (device / "stat").write_text("0 0 0")
    assert device_statistics(tmp_path, tmp_path / "devices") == str(device / "stat")


def test_a_folder_that_is_on_no_block_device_has_no_statistics(tmp_path: Path) -> None:
    assert device_statistics(Path("/proc"), tmp_path) is None
    assert device_statistics(Path("/proc")) is None
