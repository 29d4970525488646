"""Stands in for the process of a level: answers orders with batches of a made-up speed, and starts nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdelta.measure.children import Declined

MakeCpuNs = Callable[[dict[str, Any], str, int], int]


def usual(task: dict[str, Any], level: str, index: int) -> int:
    """A ns for each eight bytes, ten times that for AES without its instructions; pass 1 is three times as slow."""
    slower = 10 if level == "off" and task["mode"] else 1
    return task["page_bytes"] // 8 * slower * (3 if index == 1 else 1)


class FakeChild:
    def __init__(self, level: str, log: list[tuple[object, ...]], cpu_ns: MakeCpuNs = usual) -> None:
        self.level = level
        self._log = log
        self._cpu_ns = cpu_ns
        self._answers: list[Any] = []
        self._plan: dict[str, Any] = {}
        self.refusal: Declined | None = None

    def __enter__(self) -> FakeChild:
        self._log.append(("start", self.level))
        return self

    def __exit__(self, *_: object) -> None:
        self._log.append(("end", self.level))

    def send(self, do: str, **order: Any) -> None:
        if do == "prepare":
            self._plan = order["plan"]
            self._log.append((do, self.level))
            self._answers.append({"version": "OpenSSL 3.0.0", "cpu": f"flags {self.level}"})
            return
        index = order["index"]
        self._log.append((do, self.level, index))
        pages = 10
        self._answers.append(
            [
                {
                    "task": number,
                    "pages": pages,
                    "cpu_ns": pages * self._cpu_ns(task, self.level, index),
                    "elapsed_ns": pages * self._cpu_ns(task, self.level, index) * 2,
                }
                for number, task in enumerate(self._plan["tasks"])
            ]
        )

    def answer(self, seconds: float = 60.0) -> Any:
        if self.refusal is not None:
            raise self.refusal
        return self._answers.pop(0)

    @property
    def plan(self) -> dict[str, Any]:
        return self._plan
