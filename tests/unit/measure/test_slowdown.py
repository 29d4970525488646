from tdelta.session.clock import measure_slowdown


def test_work_takes_at_least_its_cpu_time() -> None:
    assert measure_slowdown(0.05) >= 1.0
