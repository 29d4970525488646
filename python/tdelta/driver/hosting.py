"""What every worker's host does, whatever its twin is and whichever client drives it."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tdelta import _native
from tdelta.driver.orders import Order
from tdelta.messages import Refusal
from tdelta.panics import panic_words


class NoTwin(ValueError):
    """An order out of turn: it needs an open twin."""

    def __init__(self) -> None:
        super().__init__(Refusal.of("no-twin-open"))


class TwinHost:
    """The state of one worker: its twin, a `tdelta._native` one, once it is open."""

    def __init__(self) -> None:
        self.twin: Any = None
        self.prepared: tuple[str, str] | None = None
        self._say: Callable[[Order], None] = lambda _said: None
        self._fed: tuple[int, _native.Feed] | None = None

    def answer(self, order: Order) -> Order:
        """Carry out one order. What a database answers becomes ``{"error": [kind, message]}``."""
        try:
            handler: Callable[[Order], Order] = getattr(self, f"do_{order['do']}")
            return {"ok": handler(order)}
        except MemoryError:
            return {"error": ["out_of_memory", "there is no memory left"]}
        except Exception as error:
            if (said := self.refused(error)) is None:
                raise
            return {"error": said}
        except BaseException as error:
            if (words := panic_words(error)) is None:
                raise
            return {"error": ["panic", words]}

    def refused(self, error: Exception) -> list[str] | None:
        """What a database said, its kind first; None for what is a defect."""
        match error:
            case _native.NativeError():
                return list(error.args)
            case NoTwin():
                return ["no_twin", str(error)]
            case ValueError():
                return ["value", str(error)]
        return None

    def request_stop(self) -> None:
        """Have every loop of this process end."""
        _native.request_stop()

    def clear_stop(self) -> None:
        """Let loops run again."""
        _native.clear_stop()

    def speak_by(self, say: Callable[[Order], None]) -> None:
        """How a trial says that it wants more operations."""
        self._say = say

    def feed(self, order: Order) -> None:
        """Give a trial, by its number, another chunk of operations, or none any more; called from another thread."""
        number, feed = self._fed or (None, None)
        if feed is None or number != order["number"]:
            return  # of a trial that is over
        if order["chunk"] is None:
            feed.complete()
        else:
            feed.add(*order["chunk"])

    def end(self) -> None:
        """Close what is open."""
        self.do_close({})

    def do_hello(self, _order: Order) -> Order:
        """Say who is there."""
        return {"pid": os.getpid()}

    def do_prepare(self, order: Order) -> Order:
        """Compile and prepare the transactions."""
        self.prepared = json.dumps(order["transactions"]), json.dumps(order["constants"])
        self.open_twin().prepare(*self.prepared)
        return {}

    def do_trial(self, order: Order) -> Order:
        """Run one trial; with ``begin_ns`` from that time of the monotonic clock on, and then it says when it ran.

        With ``fed``, which has its number and its first chunks, it is given its operations while it runs.
        """
        turns = order.get("turns")
        trial = json.dumps(order["trial"])
        if "begin_ns" in order:
            _wait_until(order["begin_ns"])
        with self._feeding(order.get("fed")) as fed:
            settle = order.get("checkpoint", True)
            answer: Order = self.open_twin().trial(trial, turns and json.dumps(turns), settle, **fed)
        if "begin_ns" in order:
            answer.update({name: answer["outcome"][name] for name in ("began_ns", "ended_ns")})
        return answer

    @contextlib.contextmanager
    def _feeding(self, fed: Order | None) -> Iterator[dict[str, _native.Feed]]:
        """Say whenever the trial within the block wants more operations; what it is given for that."""
        if fed is None:
            yield {}
            return
        number, feed = fed["number"], _native.Feed([(first, last) for first, last in fed["chunks"]])
        if fed["is_complete"]:
            feed.complete()

        def wish() -> None:
            while feed.wanted():
                self._say({"wants": number})

        self._fed = number, feed
        wishing = threading.Thread(target=wish, daemon=True)
        wishing.start()
        try:
            yield {"feed": feed}
        finally:
            feed.complete()
            wishing.join()  # so that nothing is wished for after the answer

    def do_trace(self, order: Order) -> Order:
        """Run one trial with every statement metered by itself."""
        answer: Order = self.open_twin().trace(json.dumps(order["trial"]))
        return answer

    def do_close(self, _order: Order) -> Order:
        """Close the twin."""
        if self.twin is not None:
            self.twin.close()
            self.twin = None
        return {}

    def open_twin(self) -> Any:
        """The twin.

        Raises:
            NoTwin: none is open.
        """
        if self.twin is None:
            raise NoTwin
        return self.twin


def _wait_until(begin_ns: int) -> None:
    """Sleep until that time of the monotonic clock; a sleep overshoots by some fifty microseconds."""
    if (left_ns := begin_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns * 1e-9)
