from pathlib import Path

import pytest

from tdelta.design import lay_out, parse_vary
from tdelta.design.storages import STORAGES, storage_of
from tdelta.errors import UsageError
from tdelta.records import Role


def test_a_level_is_a_kind_or_the_path_of_a_folder() -> None:
    levels = parse_vary(["storage=Plain,fscrypt,/mnt/safe,./here"])["storage"]
    assert levels == ("plain", "fscrypt", "/mnt/safe", str(Path.cwd() / "here"))
    assert [storage_of(str(level)).name for level in levels] == ["plain", "fscrypt", "DIR", "DIR"]


def test_anything_else_is_refused_by_the_names_that_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        parse_vary(["storage=zfs"])
    assert refused.value.refusals[0].code == "unexpected"
    assert all(name in str(refused.value) for name in STORAGES)


def test_cipher_and_storage_are_compared_alone_and_together_with_one_baseline() -> None:
    conditions = lay_out({"cipher": ("aes-256",), "storage": ("fscrypt",)}, bb_control=True)
    assert [c.key for c in conditions] == [
        "cipher=none,storage=plain,threads=1",
        "cipher=none,storage=plain,threads=1#aa",
        "cipher=aes-256,storage=plain,threads=1",
        "cipher=aes-256,storage=plain,threads=1#bb",
        "cipher=none,storage=fscrypt,threads=1",
        "cipher=none,storage=fscrypt,threads=1#bb",
        "cipher=aes-256,storage=fscrypt,threads=1",
        "cipher=aes-256,storage=fscrypt,threads=1#bb",
    ]
    assert {c.stratum for c in conditions} == {0}
    judged = [c for c in conditions if c.role is Role.TREATMENT]
    assert [(c.is_protected, c.is_encrypted, c.is_plain) for c in judged] == [
        (True, True, False),
        (True, False, False),
        (True, False, False),
    ]


def test_identical_twins_lie_on_plain_storage() -> None:
    conditions = lay_out({"storage": ("plain", "fscrypt")}, self_test=True)
    assert {c.level("storage") for c in conditions} == {"plain"}


def test_storage_alone_is_something_to_compare() -> None:
    assert [c.role for c in lay_out({"storage": ("gocryptfs",)}, aa_control=False)] == [Role.BASELINE, Role.TREATMENT]
