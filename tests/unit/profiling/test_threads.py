from support.data import text_of
from tdelta.profiling.perf import threads_of

# The output of perf 6.1 on a machine: 11, its child 14 and others.
OF_CPUS = text_of("printed/perf-forks.txt")
LOST = "   11/11    [000]    20.008000000: PERF_RECORD_LOST lost 6\n"


def test_children_belong_to_the_processes_and_others_do_not() -> None:
    printed = OF_CPUS.splitlines()
    assert threads_of(printed, [11])[0] == {11, 14}
    assert threads_of(printed, [7, 99])[0] == {7, 16}
    assert threads_of(printed)[0] is None


def test_what_was_lost_counts_from_the_first_sample_on() -> None:
    for after in (OF_CPUS + LOST, OF_CPUS + "PERF_RECORD_LOST_SAMPLES lost 6\n"):
        assert threads_of(after.splitlines(), [11]) == (frozenset({11, 14}), True)
    assert not threads_of((LOST + OF_CPUS).splitlines(), [11])[1]
    assert threads_of([], [11]) == (frozenset(), False)
