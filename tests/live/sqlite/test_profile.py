import shutil
import sqlite3
from typing import Any

import pytest

from support.running import Place, require


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small run whose cache holds a tenth of the data, with its profile; where perf may not sample, none."""
    require(shutil.which("perf"), "apt-get install linux-perf")
    place = Place(tmp_path_factory.mktemp("profiled"))
    document = place.answer("--profile", "--seed", "11", "--no-aa", "--workload", "order-entry")
    refused = [caution for caution in document["cautions"] if "perf may not sample here" in caution]
    if refused:  # the machine's owner decides that, and nothing could be installed
        pytest.skip("; ".join(refused))
    assert document["profiles"], document["cautions"]
    assert not list(place.base.rglob("perf-*.data*"))
    (found,) = document["profiles"]
    return place, document, found


def nanoseconds(profile: Any, of: str, side: str) -> float:
    return sum(one[side] for one in profile["classes"] if one["class"] == of)


def test_an_encrypted_twin_shows_its_cipher_and_a_plain_one_none(profile: Any) -> None:
    _, _, found = profile
    assert found["baseline"]["condition"]["cipher"] == "none"
    assert found["condition"]["condition"]["cipher"] == "aes-256"
    assert nanoseconds(found, "cipher", "plain_ns") == 0
    assert nanoseconds(found, "cipher", "encrypted_ns") > 0
    (cipher,) = [one for one in found["classes"] if one["class"] == "cipher"]
    assert cipher["interval95"][0] > 0
    assert "aesEncryptCBC" in {one["function"] for one in found["functions"] if one["class"] == "cipher"}


def test_the_database_the_kernel_and_tdeltas_own_loop_are_on_both_sides(profile: Any) -> None:
    _, _, found = profile
    for of in ("database", "kernel", "client"):
        for side in ("plain_ns", "encrypted_ns"):
            if of != "kernel" or not any("kernel here" in caution for caution in profile[1]["cautions"]):
                assert nanoseconds(found, of, side) > 0, (of, side)


def test_what_was_sampled_is_shown_again_and_counts_for_no_verdict(profile: Any) -> None:
    place, document, found = profile
    shown = place.tdelta("show", document["run_id"], "--details")
    assert "aesEncryptCBC" in shown.out
    with sqlite3.connect(place.store) as db:
        ((trials,),) = db.execute("SELECT count(*) FROM trials").fetchall()
    db.close()
    assert trials == document["counts"]["trials"]
    assert found["condition"]["trials"] >= 1
    assert [check["state"] for check in document["validity"] if check["code"].startswith("rows-")] == [*("ok", "ok")]
