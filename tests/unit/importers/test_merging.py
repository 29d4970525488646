import random
import statistics

import pytest

from support.refused import has
from tdelta.importers.merging import together
from tdelta.messages import Caution
from tdelta.records.observed import Figure, Group, Origin, Series, Summary

GROUP = Group("none")
RATE = Group("none", metric="throughput", unit="/s")


def origin(file: str, *cautions: Caution) -> Origin:
    return Origin(file, "format", None, cautions)


def test_summaries_are_pooled_exactly() -> None:
    draw = random.Random(5)
    parts = [[draw.gauss(mean, 2.0) for _ in range(count)] for mean, count in ((10.0, 40), (14.0, 60), (9.0, 5))]
    summaries = [
        Summary(GROUP, origin(str(number)), len(part), statistics.fmean(part), statistics.stdev(part))
        for number, part in enumerate(parts)
    ]
    (whole,) = together(summaries)
    everything = [value for part in parts for value in part]
    assert isinstance(whole, Summary)
    assert (whole.count, whole.mean) == (105, pytest.approx(statistics.fmean(everything)))
    assert whole.sd == pytest.approx(statistics.stdev(everything))


def test_a_deviation_that_one_part_lacks_is_unknown() -> None:
    (whole,) = together([Summary(GROUP, origin("a"), 5, 1.0, 0.5), Summary(GROUP, origin("b"), 5, 2.0, None)])
    assert isinstance(whole, Summary)
    assert (whole.mean, whole.sd) == (1.5, None)


def test_throughputs_add_up_as_far_as_the_shortest_goes() -> None:
    parts = [
        Series(RATE, origin("a", Caution.of("failed-transactions", transactions=2)), 1.0, (1.0, 2.0, 3.0)),
        Series(RATE, origin("b"), 1.0, (10.0, 20.0)),
    ]
    (whole,) = together(parts)
    assert isinstance(whole, Series)
    assert whole.values == (11.0, 22.0)
    assert has(whole.origin.cautions, "failed-transactions")
    assert has(whole.origin.cautions, "logs-of-other-lengths", intervals=2)


def test_means_of_an_interval_that_no_thread_worked_in_are_of_nothing() -> None:
    times = Group("none")
    parts = [
        Series(times, origin(name), 1.0, (2.0, 0.0, mean), 0.0, (5.0, 0.0, 5.0))
        for name, mean in (("a", 1.0), ("b", 3.0))
    ]
    (whole,) = together(parts)
    assert isinstance(whole, Series)
    assert (whole.values, whole.counts, whole.mean) == ((2.0, 0.0, 2.0), (10.0, 0.0, 10.0), 2.0)


def test_throughputs_of_the_whole_add_up_and_other_groups_stay_apart() -> None:
    other = Group("tde", metric="throughput", unit="/s")
    found = list(
        together([Figure(RATE, origin("a"), 5.0), Figure(other, origin("c"), 7.0), Figure(RATE, origin("b"), 6.0)])
    )
    assert [(it.group.condition, it.value) for it in found if isinstance(it, Figure)] == [("none", 11.0), ("tde", 7.0)]
