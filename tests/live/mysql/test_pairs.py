from support.pairs import Pairs


class TestMysqlPairs(Pairs):
    engine = "mysql"
    held_back = "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 2"
    let_go = "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0"
