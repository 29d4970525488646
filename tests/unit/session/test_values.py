import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.session.values import CacheSize, Duration, PageSize, Percent, Rate, ResponseTime, Rounds, Size, Value


def parse(kind: Value, text: str) -> object:
    return kind.parse(text)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Percent(), "5%", 0.05),
        (Percent(), "7 %", 0.07),
        (Percent(), "0.5%", 0.005),
        (Percent(), ".5%", 0.005),
        (Size(), "50MB", 50_000_000),
        (Size(), "64MiB", 64 * 2**20),
        (Size(), "1.5 GB", 1_500_000_000),
        (Size(), "4096", 4096),
        (Size(), "10G", 10 * 2**30),
        (Size(), "8k", 8192),
        (Size(), "8kB", 8000),
        (PageSize(), "8kB", 8192),
        (CacheSize(), "10%", 0.1),
        (CacheSize(), "4GB", "4GB"),
        (CacheSize(), "4096 MB", "4096MB"),
        (CacheSize(), "512M", "512MiB"),
        (CacheSize(), "0.5g", "512MiB"),
        (PageSize(), "16k", 16384),
        (Rate(), "500", 500.0),
        (Rate(), "500/s", 500.0),
        (Rate(), "60 %", "60%"),
        (Duration(), "90s", 90.0),
        (Duration(), "5m", 300.0),
        (Duration(), "1h30m", 5400.0),
        (Duration(), "250ms", 0.25),
        (ResponseTime(), "20ms", 0.02),
        (ResponseTime(), "250us", 0.00025),
        (ResponseTime(), "7 µs", 0.000007),
        (ResponseTime(), "1.5s", 1.5),
        (Rounds(), "3", (3, None)),
        (Rounds(), "3..8", (3, 8)),
        (Rounds(), "3..", (3, None)),
    ],
)
def test_what_people_type_is_understood(kind: Value, text: str, value: object) -> None:
    assert parse(kind, text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Percent(), "5"),
        (Percent(), "-5%"),
        (Percent(), "five%"),
        (Size(), "50XB"),
        (Size(), "0MB"),
        (Size(), "0.3B"),
        (Size(), "-1MB"),
        (CacheSize(), "10"),
        (CacheSize(), "0.1"),
        (CacheSize(), "4 elephants"),
        (CacheSize(), "0GB"),
        (Rate(), "0"),
        (Rate(), "0%"),
        (Rate(), "500 tps"),
        (Duration(), "90"),
        (Duration(), "0s"),
        (Duration(), "5 minutes"),
        (Duration(), ""),
        (Duration(), "x5s"),
        (ResponseTime(), "20"),
        (ResponseTime(), "0ms"),
        (ResponseTime(), "5m"),
        (ResponseTime(), "1s20ms"),
        (Rounds(), "0"),
        (Rounds(), "5..3"),
        (Rounds(), "3-5"),
    ],
)
def test_what_could_be_misread_is_refused_with_what_was_expected_and_found(kind: Value, text: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        parse(kind, text)
    (refusal,) = caught.value.args
    assert (refusal.code, text in refusal.parameters["found"]) == ("unexpected", True)


@given(st.integers(1, 10**15))
def test_bytes_come_back_as_they_were(size: int) -> None:
    assert parse(Size(), str(size)) == size


@given(st.decimals(0, 500, places=3))
def test_a_percentage_is_the_nearest_float_to_its_share(value: object) -> None:
    assert parse(Percent(), f"{value}%") == float(f"{value}e-2")
