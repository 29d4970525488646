import contextlib
import io
from dataclasses import dataclass, field

import pytest

from tdelta.cli import main as entry
from tdelta.cli.main import main
from tdelta.errors import TdeltaError
from tdelta.messages import Refusal


@dataclass(frozen=True)
class Called:
    code: int
    out: str
    err: str
    refusals: tuple[Refusal, ...] = field(default=(), compare=False)


def call(*arguments: str) -> Called:
    out, err = io.StringIO(), io.StringIO()
    refusals: list[Refusal] = []
    say = entry._failed

    def failed(failure: TdeltaError, error: BaseException, *, as_json: bool) -> int:
        refusals.extend(failure.refusals)
        return say(failure, error, as_json=as_json)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entry, "_failed", failed)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
            main(arguments)
    assert isinstance(ended.value.code, int)
    return Called(int(ended.value.code), out.getvalue(), err.getvalue(), tuple(refusals))
