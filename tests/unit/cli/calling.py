import contextlib
import io
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from support import samples as s
from tdelta.cli import main as entry
from tdelta.cli.main import main
from tdelta.errors import TdeltaError
from tdelta.messages import Refusal
from tdelta.records import Measurement, RunResult, Trial
from tdelta.store import Store


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


def stored(path: Path, run: RunResult, trials: int = 0) -> Path:
    with Store.open(path) as opened:
        opened.create_run(run.settings, run.machine, run.versions)
        for position, condition in enumerate((s.PLAIN, s.AES)[:trials]):
            measured = Measurement(operations=10, elapsed_ns=10**6, transactions={}, statements={})
            opened.add_trial(s.RUN_ID, Trial(0, 0, position, condition, f"t{position}", 1e9, measured))
        opened.finish(s.RUN_ID, replace(run, counts=replace(run.counts, trials=trials)))
    return path
