import pytest

from support.refused import Part, refused
from tdelta.design import lay_out, parse_level
from tdelta.design.actions import ACTIONS, connects, is_for, parse_action
from tdelta.errors import UsageError
from tdelta.records import Role


def test_a_level_is_a_name_with_knobs() -> None:
    asked = parse_action("encrypt:threads=4:iops=200")
    assert (asked.name, dict(asked.knobs)) == ("encrypt", {"threads": 4, "iops": 200})
    asked = parse_action("backup:tool=vacuum-into:compress=zstd")
    assert (dict(asked.knobs), dict(asked.choices)) == ({}, {"tool": "vacuum-into", "compress": "zstd"})


@pytest.mark.parametrize(
    "level",
    [
        "encrypt:",
        "encrypt:iops",
        "encrypt:iops=-1",
        "encrypt:iops=1:iops=2",
        "encrypt:iops=1:iops=few",
        "backup:tool=a_b",
        "encrypt:=1",
        "encrypt:threads=0",
        "nothing:iops=1",
    ],
)
def test_what_is_no_knob_is_refused(level: str) -> None:
    with refused(UsageError, "unexpected", where="during", found=level, expected=Part("nothing, encrypt, rekey")):
        parse_level("during", level)


@pytest.mark.parametrize("name", [name for name, action in ACTIONS.items() if action.is_work and not action.is_during])
def test_an_action_that_can_be_a_trial_is_a_level_of_work_only(name: str) -> None:
    assert parse_level("work", name) == name
    with pytest.raises(UsageError):
        parse_level("during", name)


def test_opening_connections_is_what_a_restart_and_a_storm_measure() -> None:
    assert connects(("warm", "storm:connections=4"))
    assert connects(("restart",))
    assert not connects(("cold", "load", "rekey", "recovery:mb=1"))


def test_a_plain_database_can_be_encrypted_and_an_encrypted_one_not() -> None:
    assert is_for("encrypt:iops=10", is_encrypted=False)
    assert not is_for("encrypt:iops=10", is_encrypted=True)
    assert is_for("nothing", is_encrypted=True)


def test_what_goes_on_beside_a_load_is_compared_with_a_plain_twin_beside_whose_load_nothing_does() -> None:
    conditions = lay_out({"cipher": ("aes-128",), "during": ("encrypt:iops=9", "encrypt")})
    assert [(c.role, c.level("cipher"), c.level("during")) for c in conditions] == [
        (Role.BASELINE, "none", "nothing"),
        (Role.AA, "none", "nothing"),
        (Role.TREATMENT, "none", "encrypt:iops=9"),
        (Role.TREATMENT, "none", "encrypt"),
        (Role.TREATMENT, "aes-128", "nothing"),
    ]
    assert {c.stratum for c in conditions} == {0}


def test_a_key_is_changed_on_encrypted_twins_beside_one_whose_key_is_not() -> None:
    assert not is_for("rotate", is_encrypted=False)
    conditions = lay_out({"cipher": ("aes-256",), "during": ("rotate", "encrypt")}, aa_control=False)
    assert [(c.level("cipher"), c.level("during")) for c in conditions] == [
        ("none", "nothing"),
        ("none", "encrypt"),
        ("aes-256", "nothing"),
        ("aes-256", "rotate"),
    ]


def test_identical_twins_have_nothing_beside_their_load() -> None:
    assert {c.level("during") for c in lay_out({"during": ("encrypt",)}, self_test=True)} == {"nothing"}
