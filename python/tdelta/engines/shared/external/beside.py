"""A change of a schema's encryption that goes on while a load runs there, on a server of the user's.

The schema is tdelta's own, made plain on the encrypted server, where the means of encryption are. It is plain again,
and without a key, before its next trial.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

from tdelta.design.actions import NOTHING, AskedAction, parse_action
from tdelta.driver.acting import IDLE, Beside, Halt, Outcome, of_recorded, prepared
from tdelta.driver.answers import STEP_SECONDS, measurement, raise_failed
from tdelta.driver.jobs import TrialJob
from tdelta.driver.load_generator.trial import with_server
from tdelta.driver.workers import Refused, Worker
from tdelta.engines.shared.external.kind import Conversion, ConvertsBeside, ConvertsInStatement, ConvertsOffline
from tdelta.engines.shared.external.schemas import RunSchema
from tdelta.engines.shared.sessions import Connection, first
from tdelta.errors import Defect, ExternalServerFault
from tdelta.messages import Refusal
from tdelta.records import Measurement

ENCRYPT, REKEY, DECRYPT = "encrypt", "rekey", "decrypt"
PAUSE = "pause"
"""A knob of ``encrypt``: for how many seconds the conversion is suspended, once it has begun."""

MODE, ONLINE, OFFLINE = "mode", "online", "offline"
"""A choice of ``encrypt`` and ``decrypt``: whether rows can be used meanwhile."""

_TRIES_UNTIL_DEADLINE = (1 << 32) - 1
_LOOK_AGAIN_SECONDS = 0.1
_GRACE_SECONDS = 60.0
_WORDS = {True: "encrypted", False: "plain"}


class Change:
    """One change: `tdelta.driver.acting.Act`.

    Args:
        schema: where; it is plain and has no key.
        asked: ``encrypt``, ``rekey`` or ``decrypt``.
        opens: opens a session whose statements may take as long as they take.
    """

    def __init__(
        self, schema: RunSchema, kind: ConvertsBeside, asked: AskedAction, halt: Halt, opens: Callable[[], Connection]
    ) -> None:
        self._schema = schema
        self._kind = kind
        self._asked = asked
        self._halt = halt
        self._opens = opens
        self._session: Connection | None = None

    def prepare(self) -> None:
        """Give the schema its key; encrypt it where that is not what is measured.

        The session of a statement that ends with the conversion is opened here: that it takes seconds is in no figure.
        """
        with self._schema.server.translated_errors():
            if isinstance(self._kind, ConvertsInStatement) and self._kind.converts_in_statement:
                self._session = self._opens()
            if self._asked.knobs.get(PAUSE) and not self._kind.suspend_sql(self._schema.name):
                version = self._schema.server.identity.described
                raise ExternalServerFault(
                    self._schema.server.name, Refusal.of("unsupported", what="the parameter pause", by=version)
                )
            if key := self._kind.key_sql(self._schema.name):
                self._run(key)
            if self._asked.name != ENCRYPT:
                self._convert(is_encrypted=True)

    def perform(self) -> Outcome:
        """Do it, and wait until it is over: the size of the schema, and how the pause went where there is one."""
        with self._schema.server.translated_errors():
            counted = {"file_bytes": self._bytes()}
            if is_offline(self._asked):
                self._convert_offline(is_encrypted=self._asked.name == ENCRYPT)
            elif self._asked.name == REKEY:
                self._change(self._kind.rekey_sql(self._schema.name))
                self._await(is_encrypted=True)
            else:
                pause_seconds = self._asked.knobs.get(PAUSE, 0)
                counted |= self._convert(is_encrypted=self._asked.name == ENCRYPT, pause_seconds=pause_seconds)
        return Outcome(counted)

    def undo(self) -> None:
        with self._schema.server.translated_errors(), contextlib.ExitStack() as opened:
            if self._session is not None:
                opened.callback(self._session.close)
            if self._stands().is_encrypted is not False:
                self._convert(is_encrypted=False)
            for statement in self._kind.unkey_sql(self._schema.name):
                self._run(statement)

    def _convert(self, *, is_encrypted: bool, pause_seconds: int = 0) -> Mapping[str, int]:
        self._change(self._kind.convert_sql(self._schema.name, is_encrypted=is_encrypted))
        counted = self._paused(pause_seconds) if pause_seconds else {}
        self._await(is_encrypted=is_encrypted)
        return counted

    def _convert_offline(self, *, is_encrypted: bool) -> None:
        """Convert the schema while its rows cannot be used; whatever comes of it, they can be used again afterwards."""
        kind, name = self._kind, self._schema.name
        if not isinstance(kind, ConvertsOffline):
            raise Defect(f"{self._asked.name} offline was asked of a server that converts online only")
        self._change(kind.offline_sql(name))
        try:
            self._change(kind.convert_offline_sql(name, is_encrypted=is_encrypted))
        finally:
            self._change(kind.online_sql(name))
        self._await(is_encrypted=is_encrypted)

    def _paused(self, seconds: int) -> Mapping[str, int]:
        """Suspend what has begun; what is over before it can be suspended was not."""
        try:
            self._run(self._kind.suspend_sql(self._schema.name))
        except Refused:
            if self._stands().is_encrypted:
                return {"suspended_ns": 0}
            raise
        try:
            self._halt.pause(seconds)
            percent = round(self._stands().percent_done)
        finally:
            self._run(self._kind.resume_sql(self._schema.name))
        return {"suspended_ns": seconds * 1_000_000_000, "suspended_at_percent": percent}

    def _await(self, *, is_encrypted: bool) -> None:
        self._halt.wait_until(
            lambda: self._stands().is_encrypted is is_encrypted,
            f"the schema {self._schema.name} is {_WORDS[is_encrypted]}",
            look_again_seconds=_LOOK_AGAIN_SECONDS,
        )

    def _stands(self) -> Conversion:
        return self._kind.conversion(self._schema.server.ask, self._schema.name)

    def _bytes(self) -> int:
        return int(float(first(self._schema.server.ask(self._kind.data_bytes_sql(self._schema.name))) or 0))

    def _change(self, statement: str) -> None:
        (self._session or self._schema.server.connection).run(statement)

    def _run(self, statement: str) -> None:
        self._schema.server.connection.run(statement)


def is_offline(asked: AskedAction) -> bool:
    """Whether rows cannot be used while it goes on."""
    return asked.choices.get(MODE) == OFFLINE


def trial_beside(
    schema: RunSchema,
    worker: Worker,
    job: TrialJob,
    halt: Halt,
    opens: Callable[[], Connection],
    ready: Callable[[], None] | None,
) -> Measurement:
    """A trial beside whose load a schema's encryption is changed, or nothing is: what the server used until both ended.

    Raises:
        ExternalServerFault: the server refuses the change.
        EnvironmentFault: the change does not end.
    """
    server = schema.server
    kind = server.kind
    if not isinstance(kind, ConvertsBeside):
        raise Defect(f"{job.during} was asked of a server beside whose load nothing is done")
    asked = parse_action(job.during)
    act = IDLE if job.during == NOTHING else Change(schema, kind, asked, halt, opens)
    waits = {"max_tries": _TRIES_UNTIL_DEADLINE} if is_offline(asked) else {}

    def executed() -> int:
        with server.translated_errors():
            return int(float(first(server.ask(kind.executed_sql)) or 0))

    with prepared(act, halt):
        going_on = Beside(act, executed, job.head_seconds)
        worker.ask("begin_external_load")
        with going_on.going_on(halt):
            if ready is not None:
                ready()
            answer = worker.ask("trial", seconds=job.deadline_seconds + _GRACE_SECONDS, trial=job.as_json() | waits)
        used = worker.ask("end_external_load", seconds=STEP_SECONDS)
        raise_failed(answer, server.failed)
        return of_recorded(going_on.added(with_server(measurement(answer), used)))
