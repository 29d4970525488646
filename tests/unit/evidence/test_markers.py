import zlib

from tdelta.engines.sqlite.profile import DIALECT
from tdelta.evidence import COLUMNS, TABLE, Markers
from tdelta.evidence.markers import table_sql


def test_markers_are_drawn_from_the_seed_and_from_nothing_else() -> None:
    assert Markers.drawn(7) == Markers.drawn(7)
    assert not set(Markers.drawn(7).rows) & set(Markers.drawn(8).rows)


def test_there_are_512_distinct_rows_of_64_bytes_which_nothing_compresses() -> None:
    rows = Markers.drawn(7).rows
    assert (len(rows), len(set(rows)), {len(row) for row in rows}) == (512, 512, {64})
    whole = b"".join(rows)
    assert len(zlib.compress(whole, 9)) > len(whole)


def test_what_is_searched_for_is_the_beginning_of_32_rows_and_no_two_begin_alike() -> None:
    markers = Markers.drawn(7)
    heads = {row[:16] for row in markers.rows}
    assert len(set(markers.needles)) == len(markers.needles) == 32
    assert set(markers.needles) <= heads
    assert len({row[:4] for row in markers.rows}) == 512


def test_the_tables_plan_holds_the_rows_in_the_order_of_their_ids() -> None:
    markers = Markers.drawn(7)
    plan = markers.table_plan()
    assert (plan["name"], plan["rows"]) == (TABLE, 512)
    serial, given = plan["columns"]
    assert (serial["name"], given["name"]) == COLUMNS
    assert [bytes.fromhex(text) for text in given["hex"]] == list(markers.rows)
    assert all(f" {column} " in table_sql(DIALECT).replace("(", " ") for column in COLUMNS)
