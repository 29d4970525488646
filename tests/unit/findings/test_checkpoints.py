import numpy as np
import pytest

from support.finished import found as findings
from tdelta.findings.checkpoints import KIND, CheckpointMeasure
from tdelta.inference.run_analysis import FEWEST_BLOCKS
from tdelta.records import Checkpoint, Condition, Measurement, Metric, Role, RunSettings, SpanTotals, Trial

PLAIN = Condition((("cipher", "none"), ("threads", 1)), Role.BASELINE)
TWIN = Condition((("cipher", "none"), ("threads", 1)), Role.AA)
AES = Condition((("cipher", "aes-256"), ("threads", 1)), Role.TREATMENT)
CONDITIONS = (PLAIN, TWIN, AES)
SETTINGS = RunSettings("r", 1, "", "sqlite", "order-entry", CONDITIONS, 0.02, None, Metric.RESPONSE_TIME)
ROUNDS = 4


def trials(
    blocks: int, times: float = 1.0, written: float = 1.0, counted: int | None = 40_960, spared: int = 0
) -> list[Trial]:
    """Trials whose encrypted checkpoints take ``times`` as long; the first ``spared`` blocks have none to do."""
    rng = np.random.default_rng(4)
    found = []
    for block in range(blocks):
        for place, of in enumerate(CONDITIONS):
            took = 5e6 * rng.lognormal(0.0, 0.03) * (times if of is AES else 1.0)
            wrote = None if counted is None else round(counted * (written if of is AES else 1.0))
            checkpoint = Checkpoint(0 if block < spared else round(took), wrote, 0 if counted is not None else None)
            spans = {"t": SpanTotals(10, 10_000_000)}
            measured = Measurement(10, 10_000_000, spans, {}, total_operations=10, checkpoint=checkpoint)
            at = (block // (blocks // ROUNDS), block, place)
            found.append(Trial(*at, of, f"{of.key}/{at[0]}", 0.0, measured))
    return found


def of_aes(found: tuple[CheckpointMeasure, ...]) -> CheckpointMeasure:
    assert [one.condition for one in found] == list(CONDITIONS)
    return found[-1]


def test_a_checkpoint_that_takes_longer_has_its_ratio_and_no_verdict() -> None:
    found = findings(KIND, trials(40, times=1.3, written=1.1), SETTINGS)
    aes = of_aes(found)
    assert aes.time_ratio is not None
    assert aes.time_ratio.hdi95[0] < 1.3 < aes.time_ratio.hdi95[1]
    assert aes.time_ratio.hdi95[0] > 1.1
    assert aes.written_ratio is not None
    assert aes.written_ratio.median == pytest.approx(1.1, abs=0.01)
    assert (aes.trials, aes.checkpoints) == (40, 40)
    assert aes.written_bytes is not None
    assert aes.written_bytes.median == round(40_960 * 1.1)
    assert [(one.time_ratio, one.written_ratio) for one in found[:2]] == [(None, None)] * 2


@pytest.mark.parametrize(("blocks", "spared"), [(12, 0), (FEWEST_BLOCKS + 4, 5)])
def test_few_blocks_with_checkpoints_have_no_ratio(blocks: int, spared: int) -> None:
    aes = of_aes(findings(KIND, trials(blocks, spared=spared), SETTINGS))
    assert (aes.time_ratio, aes.checkpoints) == (None, blocks - spared)


def test_bytes_that_were_not_counted_are_not_known() -> None:
    aes = of_aes(findings(KIND, trials(20, counted=None), SETTINGS))
    assert (aes.written_bytes, aes.written_ratio) == (None, None)
    assert aes.time_ratio is not None


def test_a_run_without_checkpoints_has_none() -> None:
    assert findings(KIND, trials(20, spared=20), SETTINGS) == ()


def test_of_what_was_written_the_larger_count_holds() -> None:
    assert [Checkpoint(1, asked, device).written_bytes for asked, device in ((3, 8), (9, 0), (None, None))] == [
        8,
        9,
        None,
    ]
