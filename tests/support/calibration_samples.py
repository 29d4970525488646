"""A calibration to store, and what a run must have in common with it."""

from dataclasses import replace

from tdelta.messages import Caution, Reason
from tdelta.records import (
    CalibrationKey,
    Counted,
    DetectableEffect,
    IdenticalTally,
    InjectedTally,
    InstanceEffectPrior,
    MachineCalibration,
    MetricNoise,
)

KEY = CalibrationKey(
    machine={"cpu_model": "Example CPU", "logical_cpus": 2, "virtualized": None},
    engine="sqlite",
    library="apsw-sqlite3mc 3.54.0.0",
    workload="order-entry",
    work="5eed",
    options={"threads": 1, "cache": 0.1, "rate": None},
    tdelta="0.1.0",
)


def calibration(calibration_id: str = "cal-20261122-kqmt", **changes: object) -> MachineCalibration:
    prior = InstanceEffectPrior(0.004, 0.45, 0.2)
    base = MachineCalibration(
        calibration_id=calibration_id,
        created_unix_seconds=1_795_132_800.0,
        seed=7,
        key=KEY,
        run_ids=("20261122-bbbb", "20261122-cccc"),
        rounds_per_run=3,
        blocks_per_round=6,
        elapsed_seconds=580.25,
        tolerance=0.02,
        identical=IdenticalTally(Counted(0, 14, 0.0, 0.2316), Counted(13, 14, 0.6613, 0.9982), 0.0062),
        injected=(
            InjectedTally(
                0.05, "response_time", True, 1.0431, 0.0041, (-0.002, 0.0102), Counted(13, 14, 0.6613, 0.9982),
                Counted(14, 14, 0.7684, 1.0), 0.041,
            ),
            InjectedTally(
                0.05, "cpu_per_operation", True, 1.054, 0.0055, None, Counted(12, 14, 0.5719, 0.9822),
                Counted(14, 14, 0.7684, 1.0), 0.038,
            ),
        ),
        noise=(MetricNoise("response_time", 0.031, 0.0438, 0.0042, (0.0008, 0.0081), 168, prior),),
        minimum_detectable_effect=(
            DetectableEffect(5.0, 40, 0.0121),
            DetectableEffect(20.0, 165, 0.0061),
            DetectableEffect(60.0, 400, None),
        ),
        cautions=(Caution.verbatim("something to keep in mind"),),
        machine={"cpu_model": "Example CPU"},
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


def valid() -> MachineCalibration:
    return calibration(
        minimum_detectable_effect=(
            DetectableEffect(5.0, 40, 0.0121),
            DetectableEffect(20.0, 165, 0.0061),
            DetectableEffect(60.0, 400, 0.0038),
        )
    )


def invalid() -> MachineCalibration:
    fault = Reason.of("false-calls", count=5, of=14, interval="13% to 65%")
    tally = IdenticalTally(Counted(5, 14, 0.1276, 0.6486), Counted(8, 14, 0.2886, 0.8234), 0.061)
    return calibration(faults=(fault,), identical=tally)


def short() -> MachineCalibration:
    """A single run of a large server: no bias interval, no round fits into 5 minutes."""
    once, held = Counted(0, 1, 0.0, 0.975), Counted(1, 1, 0.025, 1.0)
    tally = InjectedTally(0.2, "response_time", False, 1.31, 0.012, None, held, held, 0.09)
    return calibration(
        identical=IdenticalTally(once, held, 0.0212),
        injected=(tally,),
        run_ids=("20261122-bbbb",),
        minimum_detectable_effect=(
            DetectableEffect(5.0, 0, None),
            DetectableEffect(20.0, 3, 0.044),
            DetectableEffect(60.0, 11, 0.0213),
        ),
        interrupted=True,
        cautions=(Caution.of("few-calibration-runs", runs=1, false=0.975),),
    )


def broken() -> MachineCalibration:
    none = Counted(0, 0, 0.0, 1.0)
    fault = "1 of 1 runs failed the check “rows are the same after the last trial” (differ)"
    return calibration(
        identical=IdenticalTally(none, none, 0.0),
        injected=(),
        noise=(),
        minimum_detectable_effect=(),
        faults=(Reason.verbatim(fault),),
    )


CALIBRATIONS = {made.__name__: made for made in (valid, invalid, short, broken)}
