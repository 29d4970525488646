from support.pairs import Pairs


class TestMariadbPairs(Pairs):
    engine = "mariadb"
    held_back = "CHANGE MASTER TO MASTER_DELAY = 2"
    let_go = "CHANGE MASTER TO MASTER_DELAY = 0"
