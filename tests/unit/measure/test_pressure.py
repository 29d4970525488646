import pytest

from tdelta.errors import TdeltaError
from tdelta.measure import PressureMeter
from tdelta.measure.pressure import CpuTicks, parse_pressure, parse_steal

from .machines import machine

PSI = "some avg10=0.02 avg60=0.13 avg300=0.04 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"


def test_the_total_is_that_of_the_some_line():
    assert parse_pressure(PSI.format(1151403)) == 1151403


@pytest.mark.parametrize("text", ["", "full avg10=0.00 avg60=0.00 avg300=0.00 total=77\n", "Operation not supported"])
def test_a_pressure_file_without_a_some_line_tells_nothing(text):
    assert parse_pressure(text) is None


@pytest.mark.parametrize(
    ("text", "ticks"),
    [
        ("cpu  10 1 5 80 2 0 1 4 6 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n", CpuTicks(4, 103)),  # guest (6) is in user already
        ("cpu  10 1 5 80 2 0 1 4\n", CpuTicks(4, 103)),
        ("cpu  10 1 5 80 2 0 1\n", None),
        ("intr 5\n", None),
        ("", None),
    ],
)
def test_steal_is_the_eighth_field_of_the_first_line(text, ticks):
    assert parse_steal(text) == ticks


@pytest.fixture
def clock():
    class Clock:
        now_ns = 5_000_000_000

        def __call__(self):
            return self.now_ns

    return Clock()


def test_shares_are_of_the_wall_clock_and_of_all_cpu_time(tmp_path, clock):
    machine(
        tmp_path,
        proc__pressure__cpu=PSI.format(1000),
        proc__pressure__io=PSI.format(0),
        proc__stat="cpu  0 0 0 0 0 0 0 0 0 0",
    )
    machine(tmp_path, proc__pressure__memory=PSI.format(9))
    meter = PressureMeter(tmp_path, clock)
    meter.start()
    clock.now_ns += 250_000_000
    machine(tmp_path, proc__pressure__cpu=PSI.format(51_000), proc__stat="cpu  20 0 10 15 0 0 0 5 0 0")
    machine(tmp_path, proc__pressure__io=PSI.format(2_500))
    assert meter.stop() == pytest.approx({"cpu_some": 0.2, "io_some": 0.01, "memory_some": 0.0, "steal": 0.1})


def test_each_interval_counts_from_its_own_start(tmp_path, clock):
    machine(tmp_path, proc__pressure__cpu=PSI.format(0))
    meter = PressureMeter(tmp_path, clock)
    for total, share in ((100_000, 0.1), (400_000, 0.3)):
        meter.start()
        clock.now_ns += 1_000_000_000
        machine(tmp_path, proc__pressure__cpu=PSI.format(total))
        assert meter.stop() == pytest.approx({"cpu_some": share})


def test_a_kernel_without_the_files_leaves_the_shares_out(tmp_path, clock):
    meter = PressureMeter(tmp_path, clock)
    meter.start()
    clock.now_ns += 1_000_000
    assert meter.stop() == {}


def test_a_file_that_goes_away_leaves_its_share_out(tmp_path, clock):
    machine(tmp_path, proc__pressure__cpu=PSI.format(0), proc__pressure__io=PSI.format(0))
    meter = PressureMeter(tmp_path, clock)
    meter.start()
    clock.now_ns += 1_000_000
    (tmp_path / "proc/pressure/io").unlink()
    assert meter.stop() == {"cpu_some": 0.0}


def test_counters_out_of_step_stay_within_zero_and_one(tmp_path, clock):
    machine(tmp_path, proc__pressure__cpu=PSI.format(500), proc__pressure__io=PSI.format(500))
    meter = PressureMeter(tmp_path, clock)
    meter.start()
    clock.now_ns += 1_000
    machine(tmp_path, proc__pressure__cpu=PSI.format(502), proc__pressure__io=PSI.format(499))
    assert meter.stop() == {"cpu_some": 1.0, "io_some": 0.0}


def test_an_interval_shorter_than_a_tick_tells_no_steal(tmp_path, clock):
    machine(tmp_path, proc__stat="cpu  20 0 10 15 0 0 0 5 0 0")
    meter = PressureMeter(tmp_path, clock)
    meter.start()
    assert meter.stop() == {}


def test_an_interval_that_was_not_begun_cannot_end(tmp_path):
    meter = PressureMeter(tmp_path)
    with pytest.raises(TdeltaError, match=r"start\(\)"):
        meter.stop()
    meter.start()
    meter.stop()
    with pytest.raises(TdeltaError, match=r"start\(\)"):
        meter.stop()


def test_this_kernel_gives_shares():
    meter = PressureMeter()
    meter.start()
    shares = meter.stop()
    assert set(shares) <= {"cpu_some", "io_some", "memory_some", "steal"}
    assert all(0 <= share <= 1 for share in shares.values())
