import json
from collections.abc import Callable

import pytest

import tdelta.measure.cipher_cost
from support.cipher_cost_samples import whole
from tdelta.cli.cipher_cost import Names, PageSizes
from tdelta.measure.cipher_cost import CipherCost
from tdelta.records import Event, Phase

from .calling import call


class FakeCipherCost:
    """Remembers what it was asked, announces one stage, and answers with a hand-built record."""

    def __init__(self) -> None:
        self.requests: list[dict[str, object]] = []

    def __call__(self, *, observe: Callable[[Event], None], **given: object) -> CipherCost:
        self.requests.append(given)
        observe(Phase("measure", "pages"))
        return whole()


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> FakeCipherCost:
    fake = FakeCipherCost()
    monkeypatch.setattr(tdelta.measure.cipher_cost, "measure_cipher_cost", fake)
    return fake


def test_without_options_the_measurement_keeps_its_own_defaults(measured: FakeCipherCost) -> None:
    assert call("cipher-cost").code == 0
    assert measured.requests == [{"library": None}]


def test_every_option_reaches_the_measurement(measured: FakeCipherCost) -> None:
    words = (
        "cipher-cost --sizes 4k,16KiB,512 --algorithms aes-256,HMAC-SHA1 --modes cbc,gcm --max-time 5s"
        " --library /l --seed 3"
    )
    assert call(*words.split()).code == 0
    assert measured.requests == [
        {
            "sizes": (4096, 16384, 512),
            "algorithms": ("aes-256", "hmac-sha1"),
            "modes": ("cbc", "gcm"),
            "seconds": 5.0,
            "library": "/l",
            "seed": 3,
        }
    ]


def test_the_answer_goes_to_standard_output_and_progress_to_standard_error(measured: FakeCipherCost) -> None:
    done = call("cipher-cost")
    assert done.out.startswith("aes-256-cbc, decrypt, ")
    assert done.err == "measure: pages\n"


def test_json_alone_is_on_standard_output(measured: FakeCipherCost) -> None:
    values = json.loads(call("cipher-cost", "--json").out)
    assert (values["schema"], len(values["cells"])) == ("tdelta.cipher-cost/1", 200)


def test_all_names_and_sizes_that_do_not_exist_are_told_at_once() -> None:
    done = call("cipher-cost", "--modes", "cfb", "--algorithms", "des", "--sizes", "5")
    assert done.code == 2
    assert done.err.startswith("error: 3 faults\n")


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("4k", (4096,)),
        ("4K, 16 k", (4096, 16384)),
        ("64KiB,1MiB", (65536, 2**20)),
        ("4kB", (4096,)),
        ("4.5k", (4608,)),
        ("512", (512,)),
    ],
)
def test_page_sizes_go_by_1024_unless_the_unit_says_otherwise(text: str, sizes: tuple[int, ...]) -> None:
    assert PageSizes().parse(text) == sizes


@pytest.mark.parametrize("text", ["", "4q", "4k,", "4.00001k", "k", "-4k", "4k 8k"])
def test_sizes_that_could_be_misread_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        PageSizes().parse(text)


def test_every_wrong_size_is_named() -> None:
    with pytest.raises(ValueError, match="found '4q', 'x'"):
        PageSizes().parse("4q,8k,x")


@pytest.mark.parametrize("text", ["", "cbc,,gcm", ","])
def test_a_name_that_is_missing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        Names().parse(text)
