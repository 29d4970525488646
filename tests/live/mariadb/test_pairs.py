"""Replicas of private MariaDB servers."""

from __future__ import annotations

from tdelta_pairs import Pairs


class TestMariadbPairs(Pairs):
    engine = "mariadb"
