"""A record's parts: records in Python, names among the whole's where it is stored."""

from dataclasses import dataclass, field

from support.refused import Part, refused
from tdelta.errors import StoreError
from tdelta.records.parts import flat, flat_hints, nested, part
from tdelta.report.values import record_values
from tdelta.store.codec import decode, encode


@dataclass(frozen=True)
class Cpu:
    user: float = 0.0
    system: float = 0.0


@dataclass(frozen=True)
class Place:
    block: int


@dataclass(frozen=True, kw_only=True)
class Whole:
    name: str
    place: Place = part()
    cpu: Cpu = part(Cpu, "cpu_")
    tags: tuple[str, ...] = field(default=())


WHOLE = Whole(name="a", place=Place(3), cpu=Cpu(0.5, 0.25))
FLAT = {"name": "a", "block": 3, "cpu_user": 0.5, "cpu_system": 0.25, "tags": ()}


def test_a_parts_fields_stand_in_its_place_with_its_prefix() -> None:
    assert dict(flat(WHOLE)) == FLAT
    assert list(flat_hints(Whole)) == list(FLAT)
    assert Whole(**nested(Whole, FLAT)) == WHOLE


def test_what_is_stored_and_shown_has_the_flat_names_and_is_read_again() -> None:
    stored = encode(WHOLE)
    assert list(stored) == list(record_values(WHOLE)) == list(FLAT)
    assert decode(Whole, stored) == WHOLE


def test_what_is_missing_of_a_part_takes_its_default() -> None:
    assert decode(Whole, {"name": "a", "block": 3, "cpu_user": 0.5}) == Whole(name="a", place=Place(3), cpu=Cpu(0.5))


def test_a_part_without_a_default_must_be_there() -> None:
    with refused(StoreError, "unexpected", expected="a complete record", where="Whole"):
        decode(Whole, {"name": "a"})


def test_a_name_of_no_part_is_a_fault() -> None:
    with refused(StoreError, "unexpected", found=Part("user")):
        decode(Whole, {"name": "a", "block": 3, "user": 0.5})
