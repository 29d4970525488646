"""Two ways to keep stock PostgreSQL's files encrypted: a gocryptfs mount, or a folder that the user encrypted.

Both encrypt the whole data directory: tables, WAL, temporary files, catalogs. What an encrypted file system costs
contains the file system: gocryptfs is a process that the kernel asks through FUSE, and a plain twin has neither. The
figures are those of the users of such a set-up; they are not the price of the cipher alone, and each carries a caution.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tdelta.engines.server.base import PLAIN_SCOPE, ServerCipher, ServerSettings
from tdelta.messages import Caution, Detail
from tdelta.processes.servers.recipes import Command, Mount, ServerPaths

_PLAIN = ServerCipher("no encryption")

_FILE_SYSTEM_SQL = """
SELECT m[2] FROM regexp_split_to_table(pg_read_file('/proc/self/mountinfo', 0, 1048576), E'\\n')
  WITH ORDINALITY AS lines (line, number),
  regexp_match(line, '^\\S+ \\S+ \\S+ \\S+ (\\S+) .* - (\\S+) ') AS m
WHERE starts_with(current_setting('data_directory') || '/', rtrim({point}, '/') || '/')
ORDER BY length(m[1]) DESC, number DESC LIMIT 1
""".strip().format(point=r"replace(replace(m[1], '\040', ' '), '\134', '\')")
"""The kind of file system that the server itself sees under its data directory: the last one mounted at the longest
mount point, in which blanks and backslashes are octal digits."""

_PROOF_PAGE_BYTES = 16384
_PAGES_A_SEGMENT = 1000
"""A segment of the log has 16 MiB."""

_FUSE = "fuse.gocryptfs"


class Protection:
    """What encrypts a PostgreSQL server's files: nothing that is PostgreSQL's by itself.

    In a run that varies what data directories lie on, whoever makes that encrypts.
    """

    ciphers: Mapping[str, ServerCipher] = MappingProxyType({"none": _PLAIN})
    """The levels of the factor ``cipher``."""

    scopes: tuple[str, ...] = (PLAIN_SCOPE,)
    """The levels of the factor ``scope``; a file system knows nothing of tables and logs."""

    crypto = "none"
    """Whose code encrypts: a value of `CryptoKind`, or a name from which nothing can hide AES."""

    encrypts_folder = False
    """Whether a file system does, under the data directory."""

    is_lodged = False
    """Whether it is a folder of the user's. The bytes on its disk cannot be read: the kernel shows what it decrypts."""

    def facts(self, _settings: ServerSettings) -> Mapping[str, str]:
        """Queries for what the server says of its encryption."""
        return {"file system": _FILE_SYSTEM_SQL}

    def fault(self, _settings: ServerSettings, _found: Mapping[str, str]) -> Detail | None:
        """What is wrong with the encryption in force, given the answers to `facts`; None if it is as asked."""
        return None

    def differing(self, _settings: ServerSettings) -> tuple[str, ...]:
        """What this twin has otherwise than a plain one, for people."""
        return ()

    def cautions(self, _settings: ServerSettings) -> tuple[Caution, ...]:
        """What must be said beside every figure of such a twin."""
        return ()

    def mount(self, _place: ServerPaths, _settings: ServerSettings, _key: str) -> Mount | None:
        """The file system that is mounted under the data directory."""
        return None

    def home(self, _settings: ServerSettings) -> Path | None:
        """The folder in which such a twin must be made; None: anywhere."""
        return None

    def options(self, _settings: ServerSettings) -> Mapping[str, str]:
        """Lines of postgresql.conf beside those that all servers have."""
        return {}

    def before_load_sql(self, _settings: ServerSettings) -> tuple[str, ...]:
        """What is run on the new database before tables are made."""
        return ()

    def proof_sql(self, _settings: ServerSettings, _pages: int) -> Mapping[str, str]:
        """Queries that have 16 KiB encrypted or decrypted so often (``encrypted``), and all but that (``plain``)."""
        return {}


class Gocryptfs(Protection):
    """A gocryptfs mount under the data directory of each encrypted twin.

    gocryptfs brings two implementations of each cipher and picks one by a look at the CPU. Here it is always the one in
    Go, which it picks itself where there are AES instructions: twins with and without them then run the same code.
    """

    ciphers = MappingProxyType(
        {
            "none": _PLAIN,
            "aes-256": ServerCipher("gocryptfs, AES-256-GCM"),
            "chacha20": ServerCipher("gocryptfs, XChaCha20-Poly1305"),
        }
    )
    scopes = (PLAIN_SCOPE, "all")
    crypto = "go"
    encrypts_folder = True

    def __init__(self, program: Path) -> None:
        self.program = program

    def mount(self, place: ServerPaths, settings: ServerSettings, key: str) -> Mount:
        """The mount at the data directory. The key is gocryptfs's password and goes to its standard input.

        A password of 256 random bits needs no slow key derivation, so scrypt does the least that gocryptfs takes.
        """
        ciphertext = place.folder / "ciphertext"
        cipher = ("-xchacha",) if settings.cipher == "chacha20" else ()
        make = (str(self.program), "-init", "-quiet", "-scryptn", "10", *cipher, "--", str(ciphertext))
        quietly = ("-fg", "-quiet", "-nosyslog", "-openssl=false")
        serve = (str(self.program), *quietly, "--", str(ciphertext), str(place.data))
        return Mount(
            make=Command(make, secret=key),
            serve=Command(serve, secret=key),
            ciphertext=ciphertext,
            at=place.data,
        )

    def proof_sql(self, settings: ServerSettings, pages: int) -> Mapping[str, str]:
        """The server reads a file of its data directory; a plain twin has nothing that decrypts."""
        return file_reading_sql(pages) if settings.is_encrypted else {}

    def fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """An encrypted twin must lie on gocryptfs, a plain one must not."""
        kind = found["file system"]
        if settings.is_encrypted == (kind == _FUSE):
            return None
        wanted = f"on {_FUSE}" if settings.is_encrypted else "on no encrypted file system"
        return Detail.of("data-directory", wanted=wanted, found=kind)

    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        return (f"data directory on {self.ciphers[settings.cipher].asked}",) if settings.is_encrypted else ()

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        return (Caution.of("storage-fuse"), Caution.of("storage-cached")) if settings.is_encrypted else ()


_INSIDE = "in the encrypted folder"


class EncryptedFolder(Protection):
    """A folder of the user's on an encrypted file system, in which the encrypted twins live.

    ``encryption`` is what was found there (``LUKS2 (dm-crypt) on ext4``): the cipher is the user's choice, so the level
    is called ``directory``. The kernel decrypts and keeps what it decrypted: nothing of the server's shows how.
    """

    scopes = (PLAIN_SCOPE, "all")
    crypto = "kernel"
    """The kernel's code, or that of a process that is not tdelta's."""

    encrypts_folder = is_lodged = True

    def __init__(self, path: Path, encryption: str) -> None:
        self.path = path
        self.encryption = encryption
        self.ciphers = {"none": _PLAIN, "directory": ServerCipher(encryption)}

    def home(self, settings: ServerSettings) -> Path | None:
        return self.path if settings.is_encrypted else None

    def facts(self, _settings: ServerSettings) -> Mapping[str, str]:
        """Whether the server has its data directory in the folder, and on which file system."""
        inside = f"starts_with(current_setting('data_directory'), {_literal(str(self.path / '_')[:-1])})"
        return {_INSIDE: f"SELECT CASE WHEN {inside} THEN 'yes' ELSE 'no' END", "file system": _FILE_SYSTEM_SQL}

    def fault(self, settings: ServerSettings, found: Mapping[str, str]) -> Detail | None:
        """An encrypted twin's data directory must lie in the folder, a plain one's outside."""
        if settings.is_encrypted == (found[_INSIDE] == "yes"):
            return None
        wanted = "in" if settings.is_encrypted else "outside"
        return Detail.of("data-directory", wanted=f"{wanted} {self.path}", found="another")

    def differing(self, settings: ServerSettings) -> tuple[str, ...]:
        return (f"data directory in {self.path} ({self.encryption})",) if settings.is_encrypted else ()

    def cautions(self, settings: ServerSettings) -> tuple[Caution, ...]:
        return (Caution.of("encrypted-folder"),) if settings.is_encrypted else ()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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
