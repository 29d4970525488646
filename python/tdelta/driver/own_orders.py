"""What a worker can be told about a server of the user's. A refusal is an answer, as of a user's database."""

from __future__ import annotations

from typing import Any

from tdelta import _native

Order = dict[str, Any]


class OwnServerOrders:
    """Orders of a worker's host, kept in a file of their own: what its other orders do, refusals told apart."""

    def do_connect(self, order: Order) -> Order:
        """Connect; the host's."""
        raise NotImplementedError

    def do_rows(self, order: Order) -> Order:
        """All that a statement answers; the host's."""
        raise NotImplementedError

    def do_enter(self, order: Order) -> Order:
        """Log in to a server."""
        try:
            return self.do_connect(order)
        except _native.NativeError as refusal:
            return {"refused": list(refusal.args)}

    def do_put(self, order: Order) -> Order:
        """Put one statement to it."""
        try:
            return self.do_rows(order)
        except _native.NativeError as refusal:
            return {"refused": list(refusal.args)}
