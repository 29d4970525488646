"""What can be done to a MariaDB server beside its load."""

from __future__ import annotations

from collections.abc import Mapping

from tdelta.driver.acting import Outcome
from tdelta.engines.shared.private.actions import ServerAction, Site
from tdelta.engines.shared.private.restarts import LogSql, restarts
from tdelta.engines.shared.sessions import Asking

_STATUS = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = "
_LOG = LogSql(
    numbers="SELECT seq AS n FROM seq_1_to_2000",
    checkpoint=("SET GLOBAL innodb_log_checkpoint_now = ON",),
    written=f"{_STATUS}'INNODB_LSN_CURRENT'",
    behind=f"{_STATUS}'INNODB_CHECKPOINT_AGE'",
)

_THREADS = 4
_IOPS = 100
"""Four threads, as encrypted twins have; MariaDB's own default of innodb_encryption_rotation_iops."""

_ENCRYPTED = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE MIN_KEY_VERSION > 0"
_ALL = "SELECT COUNT(*) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary'"
"""Those that encryption threads see to. Of a server that never had any, INNODB_TABLESPACES_ENCRYPTION lists none."""

_BUSY = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE ROTATING_OR_FLUSHING = 1"
_BYTES = "SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME <> 'innodb_temporary'"


class Encrypt:
    """InnoDB's tablespaces, encrypted by background threads (knobs ``threads``, ``iops``), and decrypted again.

    The redo log and temporary files stay as they are: they are switched with a start of the server only.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._session: Asking | None = None

    def prepare(self) -> None:
        """Connect, and say how fast."""
        self._session = self._site.connect()
        iops = self._site.knobs.get("iops", _IOPS)
        self._session.run(f"SET GLOBAL innodb_encryption_rotation_iops = {iops}")

    def perform(self) -> Outcome:
        """Switch encryption on, and wait until no tablespace is plain."""
        all_of_them, before, size = self._number(_ALL), self._number(_ENCRYPTED), self._number(_BYTES)
        self._run(f"SET GLOBAL innodb_encryption_threads = {self._site.knobs.get('threads', _THREADS)}")
        self._run("SET GLOBAL innodb_encrypt_tables = ON")
        what = "every tablespace is encrypted"
        self._site.halt.wait_until(lambda: self._number(_ENCRYPTED) >= all_of_them and self._number(_BUSY) == 0, what)
        return Outcome({"tablespaces": all_of_them - before, "encrypted_bytes": size})

    def undo(self) -> None:
        """Decrypt, as fast as that goes."""
        if self._session is None:
            return
        try:
            self._run("SET GLOBAL innodb_encryption_rotation_iops = 100000")
            self._run(f"SET GLOBAL innodb_encryption_threads = {_THREADS}")
            self._run("SET GLOBAL innodb_encrypt_tables = OFF")
            self._site.halt.wait_until(
                lambda: self._number(_ENCRYPTED) == self._number(_BUSY) == 0, "no tablespace waits to be decrypted"
            )
            self._run("SET GLOBAL innodb_encryption_threads = 0")
        finally:
            self._session.close()

    def _run(self, sql: str) -> None:
        assert self._session is not None  # noqa: S101 - prepared
        self._session.run(sql)

    def _number(self, query: str) -> int:
        assert self._session is not None  # noqa: S101 - prepared
        return int(float(self._session.rows(query)[1][0][0] or 0))


ACTIONS: Mapping[str, ServerAction] = {
    **restarts(_LOG),
    "encrypt": ServerAction(Encrypt, "innodb_encrypt_tables = ON", ("threads", "iops"), is_during=True),
}
