import pytest

from tdelta.measure.pressure import PressureMeter

from .machines import machine

PSI = "some avg10=0.02 avg60=0.13 avg300=0.04 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"


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
    clock.now_ns += 250_000_000
    machine(tmp_path, proc__pressure__cpu=PSI.format(51_000), proc__stat="cpu  20 0 10 15 0 0 0 5 0 0")
    machine(tmp_path, proc__pressure__io=PSI.format(2_500))
    waited = {"cpu_some": 0.2, "io_some": 0.01, "memory_some": 0.0}
    assert meter.stop() == pytest.approx(waited | {"cpu_busy": 0.6, "steal": 0.1})


@pytest.mark.parametrize("pressure", [None, "", "full avg10=0.00 total=77\n", "Operation not supported"])
@pytest.mark.parametrize("stat", [None, "cpu  10 1 5 80 2 0 1\n", "intr 5\n", ""])
def test_a_kernel_without_the_figures_leaves_the_shares_out(tmp_path, clock, pressure, stat):
    files = {"proc__pressure__cpu": pressure, "proc__stat": stat}
    machine(tmp_path, **{name: text for name, text in files.items() if text is not None})
    meter = PressureMeter(tmp_path, clock)
    clock.now_ns += 1_000_000
    assert meter.stop() == {}


def test_a_file_that_goes_away_leaves_its_share_out(tmp_path, clock):
    machine(tmp_path, proc__pressure__cpu=PSI.format(0), proc__pressure__io=PSI.format(0))
    meter = PressureMeter(tmp_path, clock)
    clock.now_ns += 1_000_000
    (tmp_path / "proc/pressure/io").unlink()
    assert meter.stop() == {"cpu_some": 0.0}


def test_counters_out_of_step_stay_within_zero_and_one(tmp_path, clock):
    machine(tmp_path, proc__pressure__cpu=PSI.format(500), proc__pressure__io=PSI.format(500))
    meter = PressureMeter(tmp_path, clock)
    clock.now_ns += 1_000
    machine(tmp_path, proc__pressure__cpu=PSI.format(502), proc__pressure__io=PSI.format(499))
    assert meter.stop() == {"cpu_some": 1.0, "io_some": 0.0}


def test_an_interval_shorter_than_a_tick_tells_no_steal(tmp_path, clock):
    machine(tmp_path, proc__stat="cpu  20 0 10 15 0 0 0 5 0 0")
    meter = PressureMeter(tmp_path, clock)
    assert meter.stop() == {}


def test_this_kernel_gives_shares():
    meter = PressureMeter()
    shares = meter.stop()
    assert set(shares) <= {"cpu_some", "io_some", "memory_some", "cpu_busy", "steal"}
    assert all(0 <= share <= 1 for share in shares.values())
