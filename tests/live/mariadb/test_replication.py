from support.replication import ReplicatedRuns


class TestMariadbReplication(ReplicatedRuns):
    engine = "mariadb"
    hidden = ("binlog", "relay log", "redo log", "tables")
