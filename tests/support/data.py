"""Texts that tests read: what programs printed, files of a machine, workloads, dumps, long lists of words."""

import csv
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def text_of(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text_of(name).splitlines()))
