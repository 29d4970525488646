from support.refused import check_messages, coded
from support.texts import texts
from tdelta.records import Bins, Figure, Group, Observation, Origin, Samples, Summary
from tdelta.session.analyzing import without_copies


def samples(file: str, condition: str, run: str, total: float) -> Observation:
    bins = Bins((1.0, 2.0), (3,))
    return Samples(Group(condition, run=run), Origin(file, "CSV"), 3, total, 1.0, 5.0, 1.0, 2.0, bins)


def figure(file: str, condition: str, run: str, value: float, metric: str = "throughput") -> Observation:
    return Figure(Group(condition, metric=metric, unit="/s", run=run), Origin(file, "sysbench"), value)


def test_a_copy_is_no_second_run() -> None:
    given = (samples("a", "plain", "1", 4.5), samples("b", "plain", "2", 4.5), samples("c", "plain", "3", 4.6))
    found = without_copies(given)
    assert found.observations == (given[0], given[2])
    check_messages(found.left_out, coded("copy-left-out", other="a", where="b"))
    assert texts(found.cautions) == ()


def test_the_same_figures_under_another_condition_are_kept_and_told() -> None:
    given = (samples("a", "plain", "1", 4.5), samples("b", "tde", "1", 4.5))
    found = without_copies(given)
    assert found.observations == given
    check_messages(found.cautions, coded("copy-suspected", file="b", other="a"))


def test_a_single_figure_may_be_the_same_by_chance() -> None:
    given = (figure("a", "plain", "1", 100.0), figure("b", "plain", "2", 100.0))
    assert without_copies(given).observations == given


def test_a_file_is_a_copy_only_if_all_of_it_is() -> None:
    given = (
        figure("a", "plain", "1", 100.0),
        figure("a", "plain", "1", 9.0, "cpu"),
        figure("b", "plain", "2", 100.0),
        figure("b", "plain", "2", 9.1, "cpu"),
    )
    assert without_copies(given).observations == given


def test_summaries_with_quantiles_are_compared_as_well() -> None:
    first, second = (
        Summary(Group("plain", run=run), Origin(run, "pgbench"), 10, 4.0, 1.0, {0.95: 6.0}) for run in ("1", "2")
    )
    assert without_copies((first, second)).observations == (first,)
