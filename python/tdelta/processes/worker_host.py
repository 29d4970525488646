"""The worker's side of a twin, whatever the twin is and whichever client drives it."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from tdelta import _native
from tdelta.leaving import panic_words
from tdelta.processes.rpc import Host, Reply, Request

_OWN_FAULTS = ("out_of_memory", "no_twin", "value")
"""Kinds of what is no word of a database."""


class NoTwin(ValueError):
    def __init__(self) -> None:
        from tdelta.messages import Refusal  # not earlier: nearly every worker does without it

        super().__init__(Refusal.of("no-twin-open"))


class TwinHost(Host):
    """The state of one worker: its twin, a `tdelta._native` one, once it is open.

    ``stop`` and ``feed`` are obeyed at once, while a trial runs. Ahead of its answer, a trial that is fed says
    ``{"wants": NUMBER}`` whenever it wants more.
    """

    listens = True

    refusable: ClassVar[Mapping[str, str]] = {}
    """Requests about a database of the user's, by what they do: a refusal of the database is their answer, no fault."""

    def __init__(self) -> None:
        super().__init__()
        self.twin: Any = None
        self.prepared: tuple[str, str] | None = None
        self._fed: tuple[int, _native.Feed] | None = None

    def answer(self, request: Request) -> Reply | None:
        does = self.refusable.get(request["do"])
        try:
            found = super().answer({**request, "do": does or request["do"]})
        except BaseException as error:
            if (words := panic_words(error)) is None:
                raise
            return {"error": ["panic", words]}
        if does is not None and found is not None and "error" in found and found["error"][0] not in _OWN_FAULTS:
            return {"ok": {"refused": found["error"]}}
        return found

    def refused(self, error: Exception) -> list[str] | None:
        match error:
            case MemoryError():
                return ["out_of_memory", "there is no memory left"]
            case _native.NativeError():
                return list(error.args)
            case NoTwin():
                return ["no_twin", str(error)]
            case ValueError():
                return ["value", str(error)]
        return None

    def request_stop(self) -> None:
        """End a trial that runs, and every later one until the next is asked for; called from another thread."""
        _native.request_stop()

    def now_stop(self, _request: Request) -> None:
        self.request_stop()

    def leave(self) -> None:
        self.request_stop()

    def heard(self, request: Request) -> None:
        if request["do"] == "trial":
            _native.clear_stop()  # so that a stop behind this one is not lost

    def now_feed(self, request: Request) -> None:
        """Give a trial, by its number, another chunk of operations, or none any more."""
        number, feed = self._fed or (None, None)
        if feed is None or number != request["number"]:
            return  # of a trial that is over
        if request["chunk"] is None:
            feed.complete()
        else:
            feed.add(*request["chunk"])

    def end(self) -> None:
        self.do_close({})

    def do_hello(self, _request: Request) -> Reply:
        return {"pid": os.getpid()}

    def do_prepare(self, request: Request) -> Reply:
        self.prepared = json.dumps(request["transactions"]), json.dumps(request["constants"])
        self.open_twin().prepare(*self.prepared)
        return {}

    def do_trial(self, request: Request) -> Reply:
        """Run one trial; with ``begin_ns`` from that time of the monotonic clock on, and then it says when it ran.

        With ``fed``, which has its number and its first chunks, it is given its operations while it runs.
        """
        trial = json.dumps(request["trial"])
        if "begin_ns" in request:
            left_ns = request["begin_ns"] - time.monotonic_ns()
            time.sleep(max(0, left_ns) * 1e-9)  # it overshoots by some fifty microseconds
        with self._feeding(request.get("fed")) as fed:
            settle = request.get("checkpoint", True)
            answer: Reply = self.open_twin().trial(trial, settle=settle, **fed)
        if "begin_ns" in request:
            answer.update({name: answer["outcome"][name] for name in ("began_ns", "ended_ns")})
        return answer

    @contextlib.contextmanager
    def _feeding(self, fed: Request | None) -> Iterator[dict[str, _native.Feed]]:
        """Say whenever the trial within the block wants more operations; what it is given for that."""
        if fed is None:
            yield {}
            return
        number, feed = fed["number"], _native.Feed([(first, last) for first, last in fed["chunks"]])
        if fed["is_complete"]:
            feed.complete()

        def wish() -> None:
            while feed.wanted():
                self.say({"wants": number})

        self._fed = number, feed
        wishing = threading.Thread(target=wish, daemon=True)
        wishing.start()
        try:
            yield {"feed": feed}
        finally:
            feed.complete()
            wishing.join()  # so that nothing is wished for after the answer

    def do_trace(self, request: Request) -> Reply:
        answer: Reply = self.open_twin().trace(json.dumps(request["trial"]))
        return answer

    def do_close(self, _request: Request) -> Reply:
        if self.twin is not None:
            self.twin.close()
            self.twin = None
        return {}

    def open_twin(self) -> Any:
        if self.twin is None:
            raise NoTwin
        return self.twin
