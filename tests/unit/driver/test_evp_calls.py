from pathlib import Path

import pytest

from support.refused import refused
from tdelta.driver import evp_calls
from tdelta.driver.evp_calls import COUNTS_VARIABLE, HEAD, SLOT, environment, read, together
from tdelta.errors import EngineUnavailable

OWN_NS = 25


def tally(starts: int, volume: int, update: tuple[int, int, int]) -> list[int]:
    return [starts, volume, starts, 125 * starts, 0, *update, 0, 0, 0]


def write(path: Path, *slots: bytes) -> None:
    path.write_bytes(HEAD.pack(1000 * OWN_NS) + b"".join(slots))


def slot(number: int, kind: int, name: bytes, encrypts: list[int], decrypts: list[int]) -> bytes:
    return SLOT.pack(number, kind, *encrypts, *decrypts, name)


NONE = tally(0, 0, (0, 0, 0))


def test_calls_since_a_reading_take_their_time_less_the_clocks_own(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    write(path, slot(419, 0, b"AES-128-CBC", NONE, tally(10, 163_840, (10, 30_000, 0))))
    before = read(path)
    write(
        path,
        slot(419, 0, b"AES-128-CBC", NONE, tally(110, 1_802_240, (110, 330_000, 0))),
        slot(-1, 1, b"HMAC", tally(0, 4096, (1, 5_025, 0)), NONE),
    )
    cbc, mac = read(path).since(before)
    assert (cbc.name, cbc.kind, cbc.direction) == ("AES-128-CBC", "cipher", "decrypt")
    assert (cbc.starts, cbc.calls, cbc.bytes) == (100, 200, 1_638_400)
    assert cbc.us == pytest.approx(100 * (100 + 3000 - OWN_NS) / 1e3)
    assert (mac.name, mac.kind, mac.calls, mac.us) == ("HMAC", "mac", 1, pytest.approx(5.0))
    assert read(path).since(read(path)) == []


def test_a_call_that_was_interrupted_took_what_others_did(tmp_path: Path) -> None:
    path = tmp_path / "calls"
    write(path, slot(419, 0, b"AES-128-CBC", NONE, tally(0, 0, (100, 98 * 3_025, 2))))
    (found,) = read(path).since(read(tmp_path / "none"))
    assert found.us == pytest.approx(100 * 3.0)


def test_both_preloads_of_a_process_stay() -> None:
    own, added = {"LD_PRELOAD": "/a.so", "A": "1"}, {"LD_PRELOAD": "/b.so", "B": "2"}
    assert together(own, added) == {"LD_PRELOAD": "/b.so:/a.so", "A": "1", "B": "2"}
    assert together({}, {}) == {}
    assert together(own, {}) == own


def test_a_preload_of_the_user_stays(tmp_path: Path) -> None:
    added = environment(tmp_path / "counts", {"LD_PRELOAD": "/opt/x.so"})
    assert added["LD_PRELOAD"].endswith("libevp_count.so:/opt/x.so")
    assert added[COUNTS_VARIABLE] == str(tmp_path / "counts")


@pytest.mark.parametrize("folder", ["with blank", "with:colon", "with$dollar"])
def test_an_installation_that_cannot_be_preloaded_is_said_with_a_remedy(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / folder / "libevp_count.so"
    monkeypatch.setattr(evp_calls, "preload_path", lambda: path)
    with refused(EngineUnavailable, "preload-missing", library=path):
        environment(tmp_path)
    path.parent.mkdir()
    path.touch()
    with refused(EngineUnavailable, "preload-unnamable", library=path):
        environment(tmp_path)
