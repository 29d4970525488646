"""Replicas of private MariaDB servers."""

from __future__ import annotations

from tdelta_replication import ReplicatedRuns


class TestMariadbReplication(ReplicatedRuns):
    engine = "mariadb"
    hidden = ("binlog", "relay log", "redo log", "tables")
