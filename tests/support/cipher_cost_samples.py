"""Hand-built costs of ciphers: no machine measured them; the golden files cover only words and columns."""

from tdelta.measure.cipher_cost import (
    ALGORITHMS,
    LEVELS,
    MODES,
    PAGE_SIZES,
    CipherCost,
    CipherCostCell,
    PageTask,
    page_tasks,
)
from tdelta.messages import Caution

_NS_PER_KIBIBYTE = {"aes-128": 110.0, "aes-192": 125.0, "aes-256": 140.0, "hmac-sha1": 520.0}
_SLOWER = {"on": 1.0, "off": 20.0}


def cell(task: PageTask, level: str) -> CipherCostCell:
    """A cell whose figures follow from its task."""
    us = 0.05 + _NS_PER_KIBIBYTE.get(task.algorithm, 900.0) * task.page_bytes / 1024 / 1000
    us *= _SLOWER[level] if task.mode else 1.0
    return CipherCostCell(
        algorithm=task.algorithm,
        mode=task.mode,
        page_bytes=task.page_bytes,
        direction=task.direction,
        aes_instructions=level,
        us_per_page=us,
        us_per_page_least=0.95 * us,
        us_per_page_quartiles=(0.99 * us, (1.04 if task.mode == "gcm" else 1.01) * us),
        elapsed_us_per_page=1.01 * us,
        gigabytes_per_second=task.page_bytes / us / 1000,
        batches=40,
        pages=40 * 500,
    )


def _cost(cells: tuple[CipherCostCell, ...], slowdown: float | None, cautions: tuple[str, ...] = ()) -> CipherCost:
    return CipherCost(
        cells=cells,
        library_version="OpenSSL 3.0.0 7 Sep 2021",
        library_cpu={"on": "CPUINFO: on", "off": "CPUINFO: off"},
        slowdown_without_instructions=slowdown,
        cautions=tuple(map(Caution.verbatim, cautions)),
        machine={"cpu_model": "A CPU of 8 Cores", "cpu_flags": {"aes": True}},
        pressure={"cpu_some": 0.01},
        passes=40,
        seed=7301,
        elapsed_seconds=19.4,
    )


def whole() -> CipherCost:
    tasks = page_tasks(PAGE_SIZES, ALGORITHMS, MODES)
    return _cost(tuple(cell(task, level) for task in tasks for level in LEVELS), 20.0)


def not_hidden() -> CipherCost:
    """A machine on which the instructions could not be hidden, of which one page size was asked."""
    caution = "the AES instructions could not be hidden from OpenSSL: figures without them are left out"
    tasks = page_tasks([16384], ["aes-128", "aes-256"], ["gcm", "xts"])
    return _cost(tuple(cell(task, "on") for task in tasks), 1.02, (caution,))


def hmac_alone() -> CipherCost:
    """Pages of odd sizes, and no AES at all."""
    tasks = page_tasks([512, 1008, 2**20], ["hmac-sha1"], [])
    return _cost(tuple(cell(task, level) for task in tasks for level in LEVELS), 20.0)


CIPHER_COSTS = {"whole": whole, "not_hidden": not_hidden, "hmac_alone": hmac_alone}
