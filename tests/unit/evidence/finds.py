from tdelta.evidence import FileClass, MarkerHit, Searched
from tdelta.records import Condition, Role

TEMP = FileClass.TEMP


def condition(cipher: str, stratum: int = 0, role: Role | None = None) -> Condition:
    found = role or (Role.BASELINE if cipher == "none" else Role.TREATMENT)
    return Condition((("cipher", cipher), ("threads", stratum + 1)), found, stratum)


def searched(of: Condition, **markers: int) -> Searched:
    """A twin with a file of 1000 bytes in each class that is named, and so many markers in it."""
    return Searched(of, tuple(MarkerHit(f"x.{name}", FileClass(name), 1000, count) for name, count in markers.items()))


PLAIN, AES = condition("none"), condition("aes-256")
