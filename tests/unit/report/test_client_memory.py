from dataclasses import replace

from support.samples import changed, slower
from tdelta.records import ClientMemory, Condition, Role, RunResult
from tdelta.records.serving import Typical
from tdelta.report.drawing import draw
from tdelta.report.findings.client_memory import blocks


def fetching() -> RunResult:
    sizes = [Condition((("cipher", "none"), ("threads", 1), ("fetch_size", n)), Role.BASELINE) for n in (10, 1000)]
    found = tuple(
        ClientMemory(one, 3, Typical(peak, peak, 2 * peak), Typical(us, us, 2 * us))
        for one, peak, us in zip(sizes, (70e6, 2e9), (950.0, 1e6), strict=True)
    )
    return changed(slower(), settings=replace(slower().settings, conditions=tuple(sizes)), client_memory=found)


def test_rows_of_a_column_have_one_unit() -> None:
    rows = [line for line in draw(blocks(fetching()), 100).splitlines() if "fetch" in line and "3" in line.split()]
    assert ["MiB" in row and "GiB" not in row for row in rows] == [True, True]
    assert [row.split()[-1] for row in rows] == ["µs", "µs"]
    assert len(blocks(fetching())) == 2


def test_a_run_without_it_has_no_table() -> None:
    assert blocks(slower()) == []
