import pytest

from support.refused import Part, refused
from tdelta.errors import UnknownName, UsageError
from tdelta.measure.cipher_cost import PageTask, check_levels, page_tasks


def test_aes_has_both_directions_and_hmac_has_one_and_no_mode():
    assert page_tasks([4096], ["aes-256", "hmac-sha1"], ["cbc"]) == (
        PageTask("aes-256", "cbc", 4096, "decrypt"),
        PageTask("aes-256", "cbc", 4096, "encrypt"),
        PageTask("hmac-sha1", None, 4096, "authenticate"),
    )


def test_there_is_no_aes_192_xts():
    assert {task.name for task in page_tasks([4096], ["aes-128", "aes-192"], ["xts"])} == {"aes-128-xts"}
    with refused(UsageError, "requires", what="AES", needs="a mode, and XTS has no AES-192"):
        page_tasks([4096], ["aes-192"], ["xts"])


def test_what_is_named_twice_is_measured_once():
    assert len(page_tasks([4096, 4096], ["aes-128", "aes-128"], ["cbc", "cbc"])) == 2


def test_an_hmac_needs_no_mode_and_aes_does():
    assert len(page_tasks([4096], ["hmac-sha512"], [])) == 1
    with refused(UsageError, "requires", what="AES", needs="a mode, and XTS has no AES-192"):
        page_tasks([4096], ["aes-128"], [])


def test_one_fault_is_told_with_what_there_is():
    with refused(UnknownName, "unknown", kind="algorithm", found=Part("aes-257"), hint=Part("aes-256")):
        page_tasks([4096], ["aes-257"], ["cbc"])


def test_all_faults_are_told_at_once():
    said = ("unknown", "unknown", "out-of-range", "out-of-range")
    with refused(UsageError, *said, found=("des", "cfb", 4095, 2**20 + 16)):
        page_tasks([4095, 2**20 + 16], ["des"], ["cfb"])


@pytest.mark.parametrize("size", [-16, 0, 8, 4095, 2**20 + 16])
def test_a_page_is_whole_blocks_of_at_most_a_mebibyte(size):
    with refused(UsageError, "out-of-range", found=size, wanted=Part("16"), what="a page size"):
        page_tasks([size], ["aes-128"], ["cbc"])


def test_nothing_to_measure_is_a_fault():
    with refused(UsageError, "requires", what="the cipher benchmark"):
        page_tasks([], ["aes-128"], ["cbc"])


def test_levels_come_once_and_in_order():
    assert check_levels(["off", "on", "off"]) == ("on", "off")
    with refused(UnknownName, "unknown", found="half"):
        check_levels(["on", "half"])
    with refused(UsageError, "requires", needs=Part("level"), what="the cipher benchmark"):
        check_levels([])
