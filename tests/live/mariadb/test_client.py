from __future__ import annotations

from support.mysql_client import MysqlClient


class TestMariadb(MysqlClient):
    kind = "mariadb"
