"""Properties of backups on any engine: compression, plaintext, rows compared."""

from collections.abc import Iterable, Mapping

from support.file_actions import Acted
from tdelta.processes.actions import COUNTED
from tdelta.records.trials import BACKUP, SEARCHED

CIPHER = "aes-256"
ENCRYPTED_RATIO = 1.1
"""At most: what is encrypted does not compress; a head here and there, and zeros, do."""


def counted(found: Acted, cipher: str, level: str) -> Mapping[str, int]:
    prefix = f"{COUNTED}{BACKUP}"
    counters = found[cipher, level].engine_counters
    return {name.removeprefix(prefix): value for name, value in counters.items() if name.startswith(prefix)}


def ratio(found: Acted, cipher: str, level: str) -> float:
    """How many times smaller compression made a backup."""
    one = counted(found, cipher, level)
    return one["raw_bytes"] / one["bytes"]


def in_the_clear(found: Acted, cipher: str, level: str) -> set[str]:
    one = counted(found, cipher, level)
    return {name.removeprefix(SEARCHED) for name, markers in one.items() if name.startswith(SEARCHED) and markers}


def check_restored(found: Acted, levels: Iterable[str], cipher: str = CIPHER) -> None:
    """All rows were compared, in what was restored of either twin."""
    name = f"{COUNTED}rows_compared"
    rows = {found[twin, level].engine_counters[name] for level in levels for twin in ("none", cipher)}
    assert len(rows) == 1
    assert rows.pop() > 100


def check_physical(found: Acted, level: str, plain: set[str], cipher: str = CIPHER) -> None:
    """Of an encrypted twin it neither compresses nor shows rows; of a plain one both."""
    assert ratio(found, "none", level) > 1.5
    assert 0.9 < ratio(found, cipher, level) < ENCRYPTED_RATIO
    assert in_the_clear(found, "none", level) == plain
    assert in_the_clear(found, cipher, level) == set()


def check_logical(found: Acted, level: str, cipher: str = CIPHER) -> None:
    """It compresses and shows rows, whatever the twin."""
    for twin in ("none", cipher):
        assert ratio(found, twin, level) > 1.5
        assert in_the_clear(found, twin, level) == {"dump"}
