"""What the machine is, how pressed it was, and whether there is room: facts that go with every run.

Read from ``/proc`` and ``/sys``; what a kernel does not tell is None or left out, never guessed. No host name and no
user name is ever read into a fact. Beside the facts stands one measurement, `measure_cipher_cost`: what a page of AES
costs on this CPU.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdelta.measure.aes import CryptoKind, cannot_hide, cpu_has_aes, hidden_environment
    from tdelta.measure.cipher_cost import CipherCost, CipherCostCell, measure_cipher_cost
    from tdelta.measure.machine import library_versions, machine_facts
    from tdelta.measure.pressure import PressureMeter
    from tdelta.measure.space import (
        free_disk_bytes,
        free_memory_bytes,
        require_memory,
        require_open_files,
        require_space,
        require_threads,
        require_writable,
    )
else:
    from tdelta.lazily import lazy_getattr

    __getattr__ = lazy_getattr(
        __name__,
        aes=("CryptoKind", "cannot_hide", "cpu_has_aes", "hidden_environment"),
        cipher_cost=("CipherCost", "CipherCostCell", "measure_cipher_cost"),
        machine=("library_versions", "machine_facts"),
        pressure=("PressureMeter",),
        space=(
            "free_disk_bytes",
            "free_memory_bytes",
            "require_memory",
            "require_open_files",
            "require_space",
            "require_threads",
            "require_writable",
        ),
    )
