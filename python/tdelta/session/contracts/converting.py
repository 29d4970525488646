"""That the tables of a schema come out plain, and encrypted again, with the rows that they had."""

from __future__ import annotations

import time

from tdelta.driver.database_answers import Refused
from tdelta.engines.shared.external.kind import Conversion, ConvertsSchemas
from tdelta.engines.shared.external.schemas import RunSchema
from tdelta.messages import Refusal
from tdelta.session.contracts.bench import AbilityFails, Bench, Found, NotOffered

WAIT_SECONDS = 120.0
_LOOK_AGAIN_SECONDS = 0.2
_WORDS = {True: "encrypted", False: "plain"}


def converted(bench: Bench) -> Found:
    """On the encrypted server: decrypted, encrypted, suspended and resumed meanwhile where the server has that."""
    schema, twin = bench.schemas[1], bench.running[1]
    server, name = schema.server, schema.server.option.removeprefix("--")
    kind = server.kind
    if not isinstance(kind, ConvertsSchemas) or not bench.expected(server):
        raise NotOffered(Refusal.of("contract-not-converted"))
    if not kind.conversion(server.ask, schema.name).is_possible:
        raise NotOffered(Refusal.of("contract-not-converted"))
    rows = twin.checksums(bench.job.tables)
    server.connection.run(kind.convert_sql(schema.name, is_encrypted=False))
    found: dict[str, str | int | float] = {"decrypted": _awaited(schema, kind, is_encrypted=False).said}
    server.connection.run(kind.convert_sql(schema.name, is_encrypted=True))
    if suspend := kind.suspend_sql(schema.name):
        found["suspended"] = _suspended(schema, kind, suspend)
    found["encrypted"] = _awaited(schema, kind, is_encrypted=True).said
    states = kind.tables(server.ask, schema.name)
    if wrong := [table for table, is_encrypted in states.items() if is_encrypted is not True]:
        given = {"wanted": _WORDS[True], "tables": ", ".join(sorted(wrong))}
        raise AbilityFails(Refusal.of("contract-tables-otherwise", **given), name)
    if wrong := [table for table, sums in twin.checksums(bench.job.tables).items() if sums != rows.get(table)]:
        raise AbilityFails(Refusal.of("contract-conversion-rows", tables=", ".join(wrong)), name)
    return found


def _suspended(schema: RunSchema, kind: ConvertsSchemas, suspend: str) -> str:
    """How it stood when it was suspended; that it is over already, in so small a schema, is no failure."""
    server = schema.server
    try:
        server.connection.run(suspend)
    except Refused as refusal:
        return f"refused: {refusal}"
    said = kind.conversion(server.ask, schema.name).said
    server.connection.run(kind.resume_sql(schema.name))
    return said


def _awaited(schema: RunSchema, kind: ConvertsSchemas, *, is_encrypted: bool) -> Conversion:
    give_up = time.monotonic() + WAIT_SECONDS
    while (found := kind.conversion(schema.server.ask, schema.name)).is_encrypted is not is_encrypted:
        if time.monotonic() >= give_up:
            given = {"wanted": _WORDS[is_encrypted], "seconds": WAIT_SECONDS, "said": found.said}
            raise AbilityFails(
                Refusal.of("contract-conversion-stuck", **given), schema.server.option.removeprefix("--")
            )
        time.sleep(_LOOK_AGAIN_SECONDS)
    return found
