"""Calls the command line in this process, as ``main`` does, with its two streams kept apart."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass

import pytest

from tdelta.cli.main import main


@dataclass(frozen=True)
class Called:
    """What one call ended with and wrote."""

    code: int
    out: str
    err: str


def call(*arguments: str) -> Called:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return Called(int(ended.value.code), out.getvalue(), err.getvalue())
