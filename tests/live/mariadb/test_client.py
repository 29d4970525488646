from support.mysql_client import MysqlClient


class TestMariadb(MysqlClient):
    kind = "mariadb"
