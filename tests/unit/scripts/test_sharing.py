"""Which tests go to one process together, and which files come first."""

from support.sharing import BY_ENGINE, BY_TEST, HERE, LONGEST_FIRST


def test_what_is_named_is_there() -> None:
    assert [name for name in (*BY_ENGINE, *BY_TEST, *LONGEST_FIRST) if not (HERE / name).exists()] == []
