"""Pieces of a script: what a client times and numbers."""

from __future__ import annotations

from tdelta.workloads.scan import cut

SCRIPT = r"""
\set id random(1, 10)
\connect
SELECT 1;
\set more random(1, 10)
SELECT :id, :more;
"""


def test_what_a_client_numbers_is_sql_and_connecting() -> None:
    pieces, faults = cut(SCRIPT)
    assert not faults
    assert [piece.text for piece in pieces if piece.is_counted] == ["\\connect", "SELECT 1", "SELECT :id, :more"]
