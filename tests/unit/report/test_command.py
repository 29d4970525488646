import pytest

from support import samples as s
from tdelta.report.command import next_command, repeat_command, run_command


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, ""),
        ({"threads": 1, "cache": 0.1, "max_seconds": 85.0}, ""),
        ({"size_bytes": 5_000_000, "max_seconds": 30.0}, " --size 5MB --max-time 30s"),
        ({"max_seconds": 1800.0, "warmup_seconds": 0.5}, " --warmup 0.5s --max-time 30m"),
        ({"size_bytes": 4097}, " --size 4097B"),
        ({"vary": {"cache": [0.1, 1.2]}}, " --vary cache=10%,120%"),
        ({"min_rounds": 4, "max_rounds": None}, " --rounds 4"),
        ({"min_rounds": 3, "max_rounds": 5}, " --rounds 3..5"),
        ({"temp_store": "default"}, ""),
        ({"temp_store": "file"}, " --temp-store file"),
        ({"workload": "./my mix"}, " --workload './my mix'"),
        ({"study": "order-entry", "threads": 4, "cache": 0.5, "max_seconds": 300.0}, " order-entry"),
        ({"study": "order-entry", "threads": 1, "cache": 0.5, "max_seconds": 300.0}, " order-entry --threads 1"),
        (
            {
                "study": "order-entry",
                "threads": 1,
                "cache": 0.5,
                "max_seconds": 300.0,
                "vary": {"cipher": ["aes-128", "aes-256"], "aes_instructions": ["on", "off"], "threads": [1, 4]},
            },
            " order-entry --vary threads=1,4",
        ),
        ({"study": "a study of another version", "aa_control": False}, " 'a study of another version' --no-aa"),
        ({"vary": {"rate": ["30%", "60%", 500.0]}}, " --vary rate=30%,60%,500"),
        ({"rate": "60%", "trial_seconds": 2.0}, " --rate 60% --trial-time 2s"),
        ({"rate": 100.0, "trial_seconds": 0.25}, " --rate 100 --trial-time 0.25s"),
        ({"latency_limit_seconds": 0.02}, " --latency-limit 20ms"),
        ({"latency_limit_seconds": 0.00025}, " --latency-limit 250us"),
        ({"latency_limit_seconds": 1.5}, " --latency-limit 1.5s"),
        ({"library": "sqlite3mc", "key": None}, ""),
    ],
)
def test_a_run_is_repeated_with_its_seed_and_what_differs_from_the_defaults(
    options: dict[str, object], words: str
) -> None:
    seed = "--seed 7301"
    expected = f"tdelta run{words} {seed}"
    assert repeat_command(s.settings(options=options)) == expected


def test_a_following_command_names_the_store_only_if_one_was_named() -> None:
    assert next_command("show", s.settings(options={"store": None})) == f"tdelta show {s.RUN_ID}"
    resumed = next_command("run --resume", s.settings(options={"store": "/r.db"}))
    assert resumed == f"tdelta run --resume {s.RUN_ID} --store /r.db"


def test_a_command_for_a_new_run_has_the_options_and_no_seed() -> None:
    options = {"engine": "sqlite", "min_rounds": 14, "max_rounds": 14, "max_seconds": 120.0, "seed": 5}
    options["bb_control"] = None
    assert run_command(options) == "tdelta run --rounds 14..14 --max-time 2m"


def test_a_run_without_a_bb_twin_is_repeated_without_one() -> None:
    assert repeat_command(s.settings(options={"bb_control": False})) == "tdelta run --no-bb --seed 7301"
    assert repeat_command(s.settings(options={"bb_control": True})) == "tdelta run --seed 7301"
    assert (
        repeat_command(s.settings(options={"bb_control": False, "self_test": True}))
        == "tdelta run --self-test --seed 7301"
    )
