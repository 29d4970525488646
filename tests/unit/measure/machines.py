"""A root folder with the kernel files of a machine we do not have here."""

from pathlib import Path

from support.data import text_of

X86_CPUINFO, ARM_CPUINFO, MEMINFO, MOUNTINFO = (
    text_of(f"machines/{name}") for name in ("cpuinfo-x86", "cpuinfo-arm", "meminfo", "mountinfo")
)


def machine(root: Path, **files: str) -> Path:
    """Write files, named with ``__`` for the slash, below ``root``."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root
