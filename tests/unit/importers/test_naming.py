"""Conditions, runs and levels from names; what stays open is an error with a command that works."""

from __future__ import annotations

import shlex
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.errors import ImportFault, UnknownName, UsageError
from tdelta.importers.cutting import Named
from tdelta.importers.naming import baseline_of, is_about_encryption, namings
from tdelta.importers.protocol import Naming
from tdelta.importers.words import is_baseline, is_encrypted, words_of
from tdelta_refused import Coded, Part, coded, refused

FORMAT = "sysbench"


def named(*names: str, asked: tuple[str, ...] = ()) -> dict[str, tuple[str | None, str, dict[str, object]]]:
    found = namings([Named(Path("results") / name, FORMAT) for name in names], asked)
    return {
        str(path.relative_to("results")): (naming.condition, naming.run, dict(naming.levels))
        for path, naming in found.items()
    }


def test_folders_say_the_condition_and_names_the_run() -> None:
    assert named("plain/run1.log", "plain/run2.log", "tde/run1.log", "tde/run2.log") == {
        "plain/run1.log": ("plain", "1", {}),
        "plain/run2.log": ("plain", "2", {}),
        "tde/run1.log": ("tde", "1", {}),
        "tde/run2.log": ("tde", "2", {}),
    }


def test_names_say_condition_threads_and_run() -> None:
    assert named("none-t4-run2.log.gz", "aes-256-t4-run2.log.gz") == {
        "none-t4-run2.log.gz": ("none", "2", {"threads": 4}),
        "aes-256-t4-run2.log.gz": ("aes-256", "2", {"threads": 4}),
    }


def test_what_all_names_have_in_common_says_nothing() -> None:
    assert named("tde_test_sysbench_plain.txt", "tde_test_sysbench_tde.txt") == {
        "tde_test_sysbench_plain.txt": ("plain", "1", {}),
        "tde_test_sysbench_tde.txt": ("tde", "1", {}),
    }


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("t16", ("threads", 16)),
        ("16threads", ("threads", 16)),
        ("16-threads", ("threads", 16)),
        ("threads_16", ("threads", 16)),
        ("thr8", ("threads", 8)),
        ("clients32", ("clients", 32)),
        ("c8", ("clients", 8)),
        ("40users", ("users", 40)),
        ("vu40", ("users", 40)),
        ("8cores", ("cores", 8)),
        ("vcpus-16", ("cores", 16)),
        ("bp5g", ("cache", "5 GB")),
        ("cache-512mb", ("cache", "512 MB")),
        ("oltp_read_only", ("workload", "oltp_read_only")),
        ("read-only", ("workload", "read_only")),
        ("RW", ("workload", "rw")),
        ("128th", ("threads", 128)),
        ("tpcc", ("workload", "tpcc")),
    ],
)
def test_levels_are_read_in_many_spellings(text: str, level: tuple[str, object]) -> None:
    found = named(f"plain-{text}.log", f"enc-{text}.log")
    assert found[f"plain-{text}.log"] == ("plain", "1", dict([level]))


@pytest.mark.parametrize(
    "text",
    ["none", "plain", "noenc", "no-enc", "off", "clear", "baseline", "unencrypted", "notde", "TDE-off", "no_tde"],
)
def test_words_for_plain(text: str) -> None:
    assert is_baseline(text)
    assert not is_encrypted(text)


@pytest.mark.parametrize(
    "text", ["tde", "enc", "encrypted", "aes-128", "AES256", "aes_256_gcm", "TDE (AES-256)", "on", "luks"]
)
def test_words_for_encrypted(text: str) -> None:
    assert is_encrypted(text)
    assert not is_baseline(text)


@pytest.mark.parametrize("text", ["mysql", "encoder", "planet", "offset", "online", "clearance", "monday"])
def test_words_within_words_say_nothing(text: str) -> None:
    assert not is_encrypted(text)
    assert not is_baseline(text)


def test_ciphers_are_conditions_of_their_own() -> None:
    found = named("none/a.txt", "AES128/a.txt", "aes_256/a.txt")
    assert [condition for condition, _, _ in found.values()] == ["none", "aes-128", "aes-256"]


def test_bare_numbers_that_count_are_runs_and_others_that_conditions_share_are_levels() -> None:
    runs = named("plain_1.txt", "plain_2.txt", "enc_1.txt", "enc_2.txt")
    assert runs["enc_2.txt"] == ("enc", "2", {})
    levels = named("sysbench_plain_16.txt", "sysbench_plain_64.txt", "sysbench_enc_16.txt", "sysbench_enc_64.txt")
    assert levels["sysbench_enc_64.txt"] == ("enc", "1", {"number": 64})


def test_words_that_conditions_share_are_levels_and_others_tell_runs_apart() -> None:
    levels = named("plain/warm.log", "plain/cold.log", "tde/warm.log", "tde/cold.log")
    assert levels["tde/cold.log"] == ("tde", "1", {"name": "cold"})
    runs = named("plain/monday.log", "plain/tuesday.log", "tde/friday.log")
    assert runs["plain/tuesday.log"] == ("plain", "tuesday", {})
    assert runs["tde/friday.log"] == ("tde", "1", {})


TIERS = [f"{folder}/Tier{gb}G-run{run}.txt" for folder in ("plain", "tde") for gb in (2, 32) for run in (1, 2)]


def test_the_users_globs_decide_conditions_and_leave_levels_and_runs_as_they_are() -> None:
    found = named(*TIERS, asked=("plain=*/plain/*", "tde=*/tde/*"))
    assert found == named(*TIERS)
    assert found["tde/Tier32G-run2.txt"] == ("tde", "2", {"name": "tier32g"})


def test_configurations_are_levels_even_where_the_other_condition_has_none_of_them() -> None:
    found = named("a/io6000.log", "a/io7000.log", "b/io6000.log", "b/io9000.log", asked=("plain=*/a/*", "tde=*/b/*"))
    assert [levels for _, _, levels in found.values()] == [{"name": f"io{at}"} for at in (6000, 7000, 6000, 9000)]
    alone = named("plain_16.log", "plain_64.log", "tde_32.log", "tde_128.log")
    assert [levels["number"] for _, _, levels in alone.values()] == [16, 64, 32, 128]


def test_the_last_of_two_numbers_may_count_runs() -> None:
    found = named(
        *(f"{name}_{threads}_{run}.txt" for name in ("plain", "enc") for threads in (16, 64) for run in (1, 2))
    )
    assert found["enc_64_2.txt"] == ("enc", "2", {"number": 64})


def test_the_folder_that_all_have_in_common_says_no_run() -> None:
    files = [Named(Path(f"r2/{folder}/run3.log"), FORMAT) for folder in ("plain", "tde")]
    assert {naming.run for naming in namings(files).values()} == {"3"}


def test_one_sides_name_may_be_the_others_and_a_word() -> None:
    folders = named("mysql/run1.log", "mysql/run2.log", "mysql-tde/run1.log", "mysql-tde/run2.log")
    assert [found[:2] for found in folders.values()] == [
        ("mysql", "1"), ("mysql", "2"), ("mysql-tde", "1"), ("mysql-tde", "2"),
    ]  # fmt: skip
    files = named("sysbench_16.log", "sysbench_16_tde.log", "sysbench_64.log", "sysbench_64_tde.log")
    assert files["sysbench_64.log"] == ("sysbench", "1", {"number": 64})
    assert files["sysbench_64_tde.log"] == ("sysbench-tde", "1", {"number": 64})
    assert [it[0] for it in named("run1.log", "run1_enc.log").values()] == ["no-enc", "enc"]
    assert [it[0] for it in named("mysql/a.log", "mysql-non-pgo/a.log").values()] == ["mysql", "mysql-non-pgo"]
    several = named("mysql/a.log", "mysql-tde/a.log", "maria/a.log", "maria-tde/a.log")
    assert several["maria-tde/a.log"] == ("tde", "1", {"name": "maria"})
    assert several["maria/a.log"] == ("no-tde", "1", {"name": "maria"})


def test_folders_of_versions_are_conditions_and_workloads_in_names_are_levels() -> None:
    runs = named("8.0.35/run1.log", "8.0.35/run2.log", "8.4.0/run1.log", "8.4.0/run2.log")
    assert runs["8.4.0/run2.log"] == ("8.4.0", "2", {})
    found = named(*(f"{version}/read-{kind}-16.log" for version in ("3.2.80", "4.5.5") for kind in ("only", "write")))
    assert found["4.5.5/read-write-16.log"] == ("4.5.5", "1", {"workload": "read_write"})
    assert [it[0] for it in named("13/bench.log", "18/bench.log").values()] == ["13", "18"]


def test_a_workload_in_place_of_a_word_is_no_condition_without_it() -> None:
    names = [f"pgbench_{version}_{load}.log" for version in (13, 18) for load in ("readonly", "standard", "prepared")]
    with refused(ImportFault, "names-leave-open", understood=Part("13_readonly.log ")):
        named(*names)
    found = named(*names, asked=("pg13=*_13_*", "pg18=*_18_*"))
    assert found["pgbench_18_readonly.log"] == ("pg18", "1", {"workload": "readonly"})
    assert found["pgbench_18_standard.log"] == ("pg18", "1", {"name": "standard"})


def test_a_suggestion_names_folders_and_never_matches_every_file() -> None:
    names = [f"{folder}/{number}x.log" for folder in ("one", "two-tde", "three-aes") for number in range(30)]
    with pytest.raises(ImportFault) as caught:
        named(*names)
    options = options_in(str(caught.value))
    assert "baseline=*/one/*" in options
    assert len(options) == 3
    with pytest.raises(ImportFault) as caught:
        named("run1.log", "run2.log", "run3.log")
    found = [option.partition("=")[2] for option in options_in(str(caught.value))]
    assert all(not all(fnmatchcase(f"results/run{run}.log", glob) for run in (1, 2, 3)) for glob in found)


def test_dates_and_process_ids_only_tell_runs_apart() -> None:
    found = named("plain/2024-05-01_10-00.log", "plain/2024-05-02_10-00.log", "tde/2024-05-03_10-00.log")
    assert [run for _, run, _ in found.values()] == ["2024-05-01_10-00", "2024-05-02_10-00", "1"]
    files = [
        Named(Path(f"{folder}/pgbench_log.{process}{suffix}"), "pgbench log", False, thread, process)
        for folder, process in (("plain", "4711"), ("plain", "4720"), ("tde", "5000"))
        for suffix, thread in (("", "0"), (".1", "1"))
    ]
    runs = [(naming.condition, naming.run) for naming in namings(files).values()]
    assert runs == [("plain", "4711")] * 2 + [("plain", "4720")] * 2 + [("tde", "1")] * 2


def test_without_known_words_the_outermost_difference_is_the_condition() -> None:
    found = named("before/oltp_read_only.log", "after/oltp_read_only.log")
    assert [condition for condition, _, _ in found.values()] == ["before", "after"]


def test_files_of_one_condition_keep_its_word() -> None:
    found = named("tde/run1.log", "tde/run2.log")
    assert [(condition, run) for condition, run, _ in found.values()] == [("tde", "1"), ("tde", "2")]
    assert named("tde-t4.log") == {"tde-t4.log": ("tde", "1", {"threads": 4})}


def test_two_formats_may_be_views_of_one_run() -> None:
    files = [Named(Path(f"{name}.{end}"), end) for name in ("plain", "tde") for end in ("raw.csv", "summary.json")]
    assert {naming.run for naming in namings(files).values()} == {"1"}


def test_the_users_globs_decide() -> None:
    found = named("one/t4.log", "two/t4.log", asked=("none=*/one/*", "aes=results/two/*"))
    assert found == {"one/t4.log": ("none", "1", {"threads": 4}), "two/t4.log": ("aes", "1", {"threads": 4})}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("none",), coded("not-name-and-glob", where="--condition 'none'")),
        (("=x",), coded("not-name-and-glob", where="--condition '=x'")),
        (("none=*missing*",), coded("glob-matches-nothing", glob="*missing*", where="--condition 'none=*missing*'")),
    ],
)
def test_globs_that_do_nothing_are_refused(asked: tuple[str, ...], found: Coded) -> None:
    with refused(UsageError, found):
        named("one.log", "two.log", asked=asked)


def test_a_file_that_no_glob_or_two_globs_match_is_an_error() -> None:
    with refused(ImportFault, "names-leave-open", understood=Part("two.log ")):
        named("one.log", "two.log", asked=("none=one.log",))
    with refused(ImportFault, "names-leave-open", understood=Part("none and of aes")):
        named("one.log", "two.log", asked=("none=*", "aes=*two*"))


def options_in(message: str) -> tuple[str, ...]:
    lines = [line.strip() for line in message.splitlines() if line.strip().startswith("--condition")]
    return tuple(shlex.split(line)[1] for line in lines)


@pytest.mark.parametrize(
    "names",
    [
        ("run1.log", "tde.log"),
        ("results.txt", "sysbench_enc_16.txt"),
        ("run1.log", "run2.log", "run3.log"),
        ("tde_plain.log", "tde.log", "other.log"),
        ("a/x.log", "a/tde.log", "b/none.log"),
    ],
)
def test_what_stays_open_is_an_error_with_a_command_that_works(names: tuple[str, ...]) -> None:
    with refused(ImportFault, "names-leave-open") as caught:
        named(*names)
    message = str(caught.value)
    assert all(name in message for name in names)
    options = options_in(message)
    assert options
    found = named(*names, asked=options)
    assert all(condition for condition, _, _ in found.values())


def test_files_that_look_like_one_run_are_an_error() -> None:
    with refused(ImportFault, "names-leave-open"):
        named("plain/out.txt", "plain/out.log", "tde/out.txt")


def test_a_file_without_a_run_is_not_taken_for_the_one_that_is_called_the_first() -> None:
    with refused(ImportFault, "names-leave-open"):
        named("A", "B", "A-run1")


def test_files_that_say_their_conditions_are_told_apart_by_run_words_or_order() -> None:
    files = [Named(Path(name), "CSV", says_itself=True) for name in ("monday.csv", "results-run7.csv")]
    assert list(namings(files).values()) == [Naming(None, "1"), Naming(None, "7")]
    assert list(namings(files[:1]).values()) == [Naming(None, "1")]


@given(
    st.lists(
        st.text(min_size=1, max_size=30).filter(
            lambda text: "/" not in text and "\0" not in text and text not in (".", "..")
        ),
        min_size=1,
        max_size=6,
        unique=True,
    )
)
def test_any_names_are_understood_or_refused(names: list[str]) -> None:
    try:
        found = namings([Named(Path("results") / name, FORMAT) for name in names])
    except ImportFault:
        pass
    else:
        assert len(found) == len(names)
        assert all(naming.condition and naming.run for naming in found.values())
        assert len({(it.condition, it.run, it.levels) for it in found.values()}) == len(names)


@pytest.mark.parametrize(
    ("conditions", "baseline"),
    [
        (("aes-256", "none"), "none"),
        (("TDE off", "TDE on"), "TDE off"),
        (("before", "tde"), "before"),
        (("No encryption", "AES-128", "AES-256"), "No encryption"),
        (("mysql", "mysql-non-pgo"), "mysql-non-pgo"),
        (("mysql-pgo", "mysql"), "mysql"),
        (("mysql-tde", "mysql"), "mysql"),
    ],
)
def test_the_baseline_is_the_one_whose_name_says_so(conditions: tuple[str, ...], baseline: str) -> None:
    assert baseline_of(conditions) == baseline


def test_the_baseline_may_be_named_and_must_be_where_names_do_not_say_it() -> None:
    assert baseline_of(("before", "after"), "before") == "before"
    with refused(UnknownName, "unknown-name-near", near="before", found="befor"):
        baseline_of(("before", "after"), "befor")
    for conditions in (("before", "after"), ("none", "plain", "tde"), ("aes-128", "aes-256"), ("tde",), ()):
        with refused(UsageError, "no-baseline-named"):
            baseline_of(conditions)


@pytest.mark.parametrize(
    ("conditions", "is_said"),
    [
        (("plain", "tde"), True),
        (("none", "aes-256"), True),
        (("unencrypted", "rest"), True),
        (("mysql", "mysql-luks"), True),
        (("mysql56", "mysql57"), False),
        (("plain", "pgo"), False),
        (("off", "on"), False),
        (("8.0.35", "8.4.0"), False),
    ],
)
def test_only_names_that_speak_of_encryption_are_called_encryption(conditions: tuple[str, ...], is_said: bool) -> None:
    assert is_about_encryption(conditions) is is_said


def test_words_keep_their_order_and_one_spelling() -> None:
    assert [word.value for word in words_of("AES_256-16threads.Run-02")] == ["aes-256", "threads=16", "2"]
