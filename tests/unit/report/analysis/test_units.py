import pytest

from tdelta.records import Spread
from tdelta.report.analysis.words import display_unit, signed, spread_text, unit_amounts


def test_a_posterior_in_milliseconds_has_the_figures_that_its_width_bears() -> None:
    found = Spread(12.41234, (12.30111, 12.52333), (12.27, 12.55))
    assert spread_text(found, "ms") == "12.41 ms (12.30 to 12.52)"


def test_a_difference_is_signed_and_in_its_own_unit() -> None:
    found = Spread(0.384, (-0.12, 0.9), (-0.3, 0.99))
    assert spread_text(found, "ms", is_signed=True) == "+384 µs (−120 to +900)"


@pytest.mark.parametrize(
    ("values", "unit", "shown"),
    [
        ((2805.0, 4206.0), "ms", ("2.805 s", "4.206 s")),
        ((423.47, 389.11), "/s", ("423.5 /s", "389.1 /s")),
        ((117_577.0, 119_206.0), "", ("117,577", "119,206")),
        ((1.5, 2.0), "GB\x1b", ("1.500 GB?", "2.000 GB?")),
        ((float("nan"), 2.0), "/s", ("–", "2.000 /s")),
    ],
)
def test_amounts_side_by_side_share_a_unit(values: tuple[float, float], unit: str, shown: tuple[str, str]) -> None:
    assert unit_amounts(values, unit) == shown


def test_a_unit_that_is_no_time_is_left_as_it_is() -> None:
    scale = display_unit([0.001], "/s")
    assert (scale.name, scale(5.0)) == ("/s", 5.0)


def test_a_zero_has_no_sign() -> None:
    assert [signed("0.00", 0.001), signed("-0.00", -0.001), signed("-1.2", -1.2), signed("1.2", 1.2)] == [
        *("0.00", "0.00", "−1.2", "+1.2"),
    ]
