"""Replicas of private MySQL servers."""

from __future__ import annotations

from tdelta_pairs import Pairs


class TestMysqlPairs(Pairs):
    engine = "mysql"
