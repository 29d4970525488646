"""Two ways to keep stock PostgreSQL's files encrypted: a gocryptfs mount, or a folder that the user encrypted.

Both encrypt the whole data directory: tables, WAL, temporary files, catalogs. What an encrypted file system costs
contains the file system: gocryptfs is a process that the kernel asks through FUSE, and a plain twin has neither. The
figures are those of the users of such a set-up; they are not the price of the cipher alone, and each carries a caution.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from tdelta.engines.postgres.actions import CONVERSIONS
from tdelta.engines.postgres.server import SQL, Postgres
from tdelta.engines.server.base import PLAIN_SCOPE, ServerBinary, ServerSettings
from tdelta.engines.server.sessions import literal
from tdelta.messages import Caution, Detail
from tdelta.processes.servers.recipes import Command, Mount, Recipe

_PROOF_PAGE_BYTES = 16384
_PAGES_A_SEGMENT = 1000
"""A segment of the log has 16 MiB."""

_FUSE = "fuse.gocryptfs"


class EncryptedBelow(Postgres):
    """A server under whose data directory a file system encrypts."""

    scopes = (PLAIN_SCOPE, "all")
    conversions = CONVERSIONS

    def encrypts_folder(self, settings: ServerSettings) -> bool:
        return settings.is_encrypted


class Gocryptfs(EncryptedBelow):
    """A gocryptfs mount under the data directory of each encrypted twin.

    gocryptfs brings two implementations of each cipher and picks one by a look at the CPU. Here it is always the one in
    Go, which it picks itself where there are AES instructions: twins with and without them then run the same code.
    """

    ciphers = (PLAIN_SCOPE, "aes-256", "chacha20")
    crypto = "go"

    def __init__(self, binary: ServerBinary, program: Path) -> None:
        super().__init__(binary)
        self.program = program

    def keyed(self, recipe: Recipe, settings: ServerSettings, key: str) -> Recipe:
        """The mount at the data directory. The key is gocryptfs's password and goes to its standard input.

        A password of 256 random bits needs no slow key derivation, so scrypt does the least that gocryptfs takes.
        """
        if not settings.is_encrypted:
            return recipe
        ciphertext, at = recipe.place.folder / "ciphertext", recipe.place.data
        cipher = ("-xchacha",) if settings.cipher == "chacha20" else ()
        make = (str(self.program), "-init", "-quiet", "-scryptn", "10", *cipher, "--", str(ciphertext))
        quietly = ("-fg", "-quiet", "-nosyslog", "-openssl=false")
        serve = (str(self.program), *quietly, "--", str(ciphertext), str(at))
        mount = Mount(Command(make, secret=key), Command(serve, secret=key), ciphertext, at)
        return dataclasses.replace(recipe, mount=mount)

    def proof_sql(self, settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """The server reads a file of its data directory; a plain twin has nothing that decrypts."""
        return file_reading_sql(pages) if settings.is_encrypted else {}

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """An encrypted twin must lie on gocryptfs, a plain one must not."""
        kind = found["file system"]
        if settings.is_encrypted == (kind == _FUSE):
            return None
        wanted = f"on {_FUSE}" if settings.is_encrypted else "on no encrypted file system"
        return Detail.of("data-directory", wanted=wanted, found=kind)

    def differing_settings(self, settings: ServerSettings) -> tuple[str, ...]:
        words = {"aes-256": "AES-256-GCM", "chacha20": "XChaCha20-Poly1305"}
        return (f"data directory on gocryptfs, {words[settings.cipher]}",) if settings.is_encrypted else ()

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        return (Caution.of("storage-fuse"), Caution.of("storage-cached")) if settings.is_encrypted else ()


_INSIDE = "in the encrypted folder"


class EncryptedFolder(EncryptedBelow):
    """A folder of the user's on an encrypted file system, in which the encrypted twins live.

    ``found`` is what encrypts there (``LUKS2 (dm-crypt) on ext4``): the cipher is the user's choice, so the level
    is called ``directory``. The kernel decrypts and keeps what it decrypted: nothing of the server's shows how.
    """

    ciphers = (PLAIN_SCOPE, "directory")
    crypto = "kernel"
    """The kernel's code, or that of a process that is not tdelta's."""

    def __init__(self, binary: ServerBinary, path: Path, found: str) -> None:
        super().__init__(binary)
        self.path = path
        self.found = found

    def home(self, settings: ServerSettings) -> Path | None:
        return self.path if settings.is_encrypted else None

    def can_be_searched(self, settings: ServerSettings) -> bool:
        return not settings.is_encrypted

    def cipher_facts(self, _settings: ServerSettings) -> Mapping[str, str]:
        """Whether the server has its data directory in the folder, and on which file system."""
        inside = f"starts_with(current_setting('data_directory'), {literal(str(self.path / '_')[:-1])})"
        return {_INSIDE: f"SELECT CASE WHEN {inside} THEN 'yes' ELSE 'no' END", "file system": SQL["file_system"]}

    def cipher_fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """An encrypted twin's data directory must lie in the folder, a plain one's outside."""
        if settings.is_encrypted == (found[_INSIDE] == "yes"):
            return None
        wanted = "in" if settings.is_encrypted else "outside"
        return Detail.of("data-directory", wanted=f"{wanted} {self.path}", found="another")

    def differing_settings(self, settings: ServerSettings) -> tuple[str, ...]:
        return (f"data directory in {self.path} ({self.found})",) if settings.is_encrypted else ()

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        return (Caution.of("encrypted-folder"),) if settings.is_encrypted else ()


def file_reading_sql(pages: int) -> Mapping[str, str]:
    """Queries that read so many pages of 16 KiB from a segment of the log, or none.

    Whoever opens a file on gocryptfs finds nothing of it in the kernel's cache, so each read is decrypted. The file
    system's own work is in that as well, which makes the instructions' share look smaller than it is.
    """
    reads = -(-pages // _PAGES_A_SEGMENT)
    size = pages * _PROOF_PAGE_BYTES // reads
    segment = "'pg_wal/' || (SELECT min(name) FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$')"
    read = f"pg_read_binary_file({segment}, 0 * number, {size})"
    return {
        "encrypted": f"SELECT sum(length({read})) FROM generate_series(1, {reads}) AS number",
        "plain": f"SELECT count(*) FROM generate_series(1, {reads})",
    }
