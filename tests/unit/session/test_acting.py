from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.refused import Part, refused
from tdelta.engines.mariadb.actions import ACTIONS as OF_MARIADB
from tdelta.engines.mysql.actions import ACTIONS as OF_MYSQL
from tdelta.engines.postgres.storage import EncryptedFolder, Gocryptfs
from tdelta.engines.postgres.tde import PgTde
from tdelta.engines.server.actions import ServerAction, knobs_of
from tdelta.engines.server.base import ServerBinary
from tdelta.errors import UsageError
from tdelta.session import RunRequest
from tdelta.session.work import check_actions

_POSTGRES = ServerBinary("postgres", "PostgreSQL", Path("/no/bin/postgres"), "15", "postgres 15")
_GOCRYPTFS = Gocryptfs(_POSTGRES, Path("/no/bin/gocryptfs")).actions
_RESTARTS = {"restart", "recovery", "storm"}


def check(levels: Mapping[str, tuple[Any, ...]], actions: Mapping[str, ServerAction]) -> None:
    known = {factor: knobs_of(actions, factor) for factor in ("work", "during")}
    check_actions(RunRequest(), levels, known, "it")


@pytest.mark.parametrize("of_postgres", [_GOCRYPTFS, EncryptedFolder(_POSTGRES, Path("/safe"), "fscrypt").actions])
def test_what_an_engine_has_is_taken(of_postgres: Mapping[str, ServerAction]) -> None:
    restarts = ("restart", "recovery:mb=1", "storm:connections=3", "warm")
    for actions in (OF_MYSQL, of_postgres):
        check({"work": restarts}, actions)
        check({"during": ("nothing", "encrypt")}, actions)
    check({"during": ("rotate:times=9",)}, OF_MYSQL)
    check({"during": ("encrypt:rate=9",)}, of_postgres)


@pytest.mark.parametrize("study", ["backup", "convert", "restart"])
def test_a_server_has_what_the_studies_do_to_it(study: str) -> None:
    check(RunRequest(study=study).vary, OF_MARIADB)
    check(RunRequest(study=study, engine="mysql").vary, OF_MYSQL)
    check(RunRequest(study=study, engine="postgres").vary, _GOCRYPTFS)


def test_all_that_an_engine_does_not_have_is_refused_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        check({"work": ("recovery:iops=1",), "during": ("encrypt:threads=2", "rotate")}, _GOCRYPTFS)
    refused = [(one.code, one.parameters.get("found")) for one in caught.value.refusals]
    assert refused == [
        ("unknown", "iops of recovery"),
        ("unknown", "threads of encrypt"),
        ("unknown", "rotate"),
        ("conflict", None),
    ]


def test_a_base_backup_encrypts_nothing_where_the_server_itself_encrypts() -> None:
    of_tde = PgTde(_POSTGRES).actions
    assert of_tde.keys() == _RESTARTS | {"throttle", "backup", "restore"}
    with refused(UsageError, "unknown", kind="during", found="encrypt", hint=Part("it")):
        check({"during": ("encrypt",)}, of_tde)
