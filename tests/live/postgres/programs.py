import os
import shutil
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")


def folder_of_programs() -> Path | None:
    """The folder of the newest of Debian's, which keeps them out of the path; or the one that is on the path."""
    debian = sorted(DEBIAN.glob("*/bin/postgres"), key=lambda path: float(path.parts[-3]))
    found = shutil.which("postgres")
    return debian[-1].parent if debian else Path(found).resolve().parent if found else None


def as_user(command: list[str]) -> list[str]:
    """In a user namespace root is somebody else."""
    return ["unshare", "--user", "--map-user=1000", "--map-group=1000", *command] if os.geteuid() == 0 else command
