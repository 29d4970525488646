from tdelta.inference.described import client_memory
from tdelta.records import Client, Condition, Measurement, Metric, Role, RunSettings, SpanTotals, Trial
from tdelta.records.serving import Typical

MB = 1_000_000


def condition(fetch_size: int, role: Role = Role.BASELINE) -> Condition:
    cipher = "none" if role is Role.BASELINE else "encrypted"
    return Condition((("cipher", cipher), ("threads", 1), ("fetch_size", fetch_size)), role)


def settings(*conditions: Condition) -> RunSettings:
    return RunSettings("r", 1, "sweep", "mariadb", "read-only", conditions, 0.02, None, Metric.RESPONSE_TIME)


def trial(of: Condition, peak: int | None, us: int = 400) -> Trial:
    spans = {"select": SpanTotals(10, 10_000 * us)}
    measured = Measurement(10, 10_000 * us, spans, {}, client=Client(peak_rss_bytes=peak), total_operations=10)
    return Trial(0, 0, 0, of, of.key, 0.0, measured)


SMALL, LARGE = condition(10), condition(1000)
TRIALS = [*(trial(SMALL, n * MB, 900) for n in (60, 70, 80)), trial(LARGE, 200 * MB), trial(LARGE, None)]


def test_each_condition_has_the_peak_of_its_trials_and_their_response_time() -> None:
    small, large = client_memory(TRIALS, settings(SMALL, LARGE))
    assert (small.condition, small.trials, small.peak_rss_bytes) == (SMALL, 3, Typical(65 * MB, 70 * MB, 75 * MB))
    assert small.response_us == Typical(900.0, 900.0, 900.0)
    assert (large.trials, large.peak_rss_bytes.median) == (2, 200 * MB)


def test_nothing_is_said_where_rows_are_held_in_one_way_or_memory_was_not_read() -> None:
    assert client_memory(TRIALS[:3], settings(SMALL, condition(10, Role.TREATMENT))) == ()
    assert client_memory([trial(SMALL, None), trial(LARGE, None)], settings(SMALL, LARGE)) == ()
