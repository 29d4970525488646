import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import Part, refused
from tdelta.design import FACTORS, parse_level, parse_vary
from tdelta.design.factors import cache_bytes, size_bytes, size_text
from tdelta.errors import UnknownName, UsageError


@pytest.mark.parametrize(
    ("factor", "text", "level"),
    [
        ("cipher", "AES-256", "aes-256"),
        ("cache", "10%", 0.1),
        ("cache", "10 %", 0.1),
        ("cache", "0.1", 0.1),
        ("cache", "120%", 1.2),
        ("cache", "1000%", 10.0),
        ("threads", " 64 ", 64),
        ("page_size", "65536", 65536),
        ("page_size", "512", 512),
        ("work", "Cold", "cold"),
    ],
)
def test_a_level_is_parsed_to_its_value_and_type(factor, text, level):
    parsed = parse_level(factor, text)
    assert parsed == level
    assert type(parsed) is type(level)


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        ("cipher", ""),
        ("cipher", "aes 256"),
        ("cipher", "-aes"),
        ("cache", "0"),
        ("cache", "-10%"),
        ("cache", "nan"),
        ("cache", "inf%"),
        ("cache", "much"),
        ("threads", "0"),
        ("threads", "1.5"),
        ("threads", "1_000"),
        ("threads", "-1"),
        ("page_size", "4095"),
        ("page_size", "256"),
        ("page_size", "131072"),
        ("work", "hot"),
    ],
)
def test_a_level_that_is_not_one_is_refused_with_what_was_expected_and_found(factor, text):
    with pytest.raises(UsageError) as fault:
        parse_level(factor, text)
    assert str(fault.value) == f"{factor}: expected {FACTORS[factor].expects}, found {text}"


def test_a_bare_cache_of_ten_is_refused_because_it_means_ten_percent_to_people():
    with refused(UsageError, "unexpected", where="cache", found="10", expected=FACTORS["cache"].expects):
        parse_level("cache", "10")


def test_an_unknown_factor_names_the_known_ones_and_the_nearest():
    with refused(UnknownName, "unknown", found=Part("thread"), hint=Part("threads")):
        parse_level("thread", "1")


def test_vary_keeps_the_order_of_factors_and_levels():
    varied = parse_vary(["threads=4, 1", "cipher=aes-256,none"])
    assert list(varied.items()) == [("threads", (4, 1)), ("cipher", ("aes-256", "none"))]


def test_vary_of_nothing_varies_nothing():
    assert parse_vary([]) == {}


def test_vary_reports_every_fault_of_every_item_at_once():
    with pytest.raises(UsageError) as fault:
        parse_vary(["chiper=aes-256", "threads=0,2,2,x", "cache", "threads=3"])
    told = str(fault.value)
    assert told.startswith("--vary: 6 faults\n")
    for part in (
        "factor chiper",
        "found 0",
        "threads=2 is given",
        "found x",
        "expected FACTOR",
        "more than once",
    ):
        assert part in told


@pytest.mark.parametrize("text", ["threads", "=1,2", "threads=", "threads=1,,2"])
def test_what_is_no_list_of_levels_is_refused_as_it_was_typed(text: str):
    with refused(UsageError, "unexpected", found=text, expected="FACTOR=LEVEL,LEVEL such as threads=1,4"):
        parse_vary([text])


def test_a_page_size_may_have_a_unit_and_a_factor_be_typed_as_its_option():
    assert parse_vary(["cache=4GB,120%,512m,0.1"]) == {"cache": ("4GB", 1.2, "512MiB", 0.1)}
    assert parse_vary(["page-size=4096,16KiB,8k,32kB"]) == {"page_size": (4096, 16384, 8192, 32768)}


def test_two_spellings_of_one_level_are_one_level_given_twice():
    with refused(UsageError, "twice", what=Part("cache")):
        parse_vary(["cache=10%,0.1"])


def test_a_single_unknown_factor_stays_an_unknown_name():
    with refused(UnknownName, "unknown", hint=Part("cipher")):
        parse_vary(["chiper=aes-256"])


@pytest.mark.parametrize(
    ("level", "size"), [("4GB", 4 * 10**9), ("512MiB", 2**29), (0.1, 5_000_000), (1.2, 60_000_000)]
)
def test_a_cache_is_a_share_of_the_data_or_as_large_as_it_says(level: str | float, size: int) -> None:
    assert cache_bytes(level, 50_000_000) == size


@given(st.integers(1, 10**15))
def test_a_size_is_written_so_that_it_is_read_again(size: int) -> None:
    assert size_bytes(size_text(size)) == size


@pytest.mark.parametrize("text", ["4GB,4000MB", "50%,0.5", "4096,10%", "GB", "-1GB"])
def test_a_cache_that_is_no_size_or_the_same_twice_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_vary([f"cache={text}"])
