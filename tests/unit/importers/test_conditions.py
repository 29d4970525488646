import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refused import Coded, Part, coded, refused
from tdelta.errors import UnknownName, UsageError
from tdelta.importers.conditions import (
    Argument,
    Named,
    assigning,
    baseline_of,
    is_about_encryption,
    is_encrypted,
    is_plain,
    namings,
    parse_arguments,
)
from tdelta.importers.importer import Naming

FORMAT = "sysbench"
Found = dict[str, tuple[str | None, str, dict[str, object]]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def named(*arguments: str, files: tuple[str, ...]) -> Found:
    """The naming of each of these files, which lie in the working directory, by the arguments."""
    for file in files:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).touch()
    listed = []
    for argument in parse_arguments(arguments):
        inner = sorted(argument.path.rglob("*")) if argument.path.is_dir() else [argument.path]
        listed += [Named(path, argument, FORMAT) for path in inner if path.is_file()]
    return {str(path): (it.condition, it.run, dict(it.levels)) for path, it in namings(listed).items()}


RUNS = tuple(f"{side}/run{run}.log" for side in ("plain", "tde") for run in (1, 2))


@pytest.mark.parametrize("arguments", [("plain", "tde"), (".",), ("plain/*.log", "tde/*.log"), ("plain/", "tde/")])
def test_each_argument_is_a_condition_and_a_single_folder_stands_for_its_entries(arguments: tuple[str, ...]) -> None:
    found = named(*arguments, files=RUNS)
    assert list(found.values()) == [("plain", "1", {}), ("plain", "2", {}), ("tde", "1", {}), ("tde", "2", {})]


def test_a_folder_within_the_single_folder_stands_for_its_entries_too() -> None:
    found = named("results", files=("results/today/plain/a.log", "results/today/tde/b.log"))
    assert [condition for condition, _, _ in found.values()] == ["plain", "tde"]


def test_files_are_named_by_their_stems_without_runs() -> None:
    files = tuple(f"{name}-run2.log.gz" for name in ("none", "aes-256"))
    assert named(*files, files=files) == {
        "none-run2.log.gz": ("none", "2", {}),
        "aes-256-run2.log.gz": ("aes-256", "2", {}),
    }
    ciphers = ("no.log", "aes-128.log", "aes_256.log")
    assert [it[0] for it in named(*ciphers, files=ciphers).values()] == ["no", "aes-128", "aes_256"]


def test_the_user_names_conditions_by_globs() -> None:
    files = ("a/monday.log", "a/tuesday.log", "b/friday.log", "c/friday.log")
    assert named("plain=a/*", "tde=b/*.log", "tde=c/friday.log", files=files) == {
        "a/monday.log": ("plain", "monday", {}),
        "a/tuesday.log": ("plain", "tuesday", {}),
        "b/friday.log": ("tde", "b", {}),
        "c/friday.log": ("tde", "c", {}),
    }


def test_a_path_with_an_equals_sign_is_a_path() -> None:
    found = named("threads=4.log", "plain.log", files=("threads=4.log", "plain.log"))
    assert found["threads=4.log"] == ("threads=4", "1", {})


@pytest.mark.parametrize("text", ["t16", "16threads", "threads_1", "thr-1", "clients 2", "users=2"])
def test_numbers_of_threads_are_no_runs(text: str) -> None:
    files = tuple(f"{side}/{name}.log" for side in ("plain", "tde") for name in (text, "t2"))
    assert named("plain", "tde", files=files)[files[0]] == ("plain", "1", {"name": text})


def test_numbers_that_count_are_runs() -> None:
    files = tuple(f"{name}_{run}.txt" for name in ("plain", "tde") for run in (1, 2))
    assert named(*files, files=files)["tde_2.txt"] == ("tde", "2", {})
    both = tuple(f"{name}/t{threads}_{run}.txt" for name in ("plain", "tde") for threads in (16, 64) for run in (1, 2))
    assert named("plain", "tde", files=both)["tde/t64_2.txt"] == ("tde", "2", {"name": "t64"})


def test_names_that_conditions_share_are_a_level_and_others_tell_runs_apart() -> None:
    levels = named("plain", "tde", files=("plain/warm.log", "plain/cold.log", "tde/warm.log", "tde/cold.log"))
    assert levels["tde/cold.log"] == ("tde", "1", {"name": "cold"})


TIERS = tuple(f"{folder}/Tier{gb}G-run{run}.txt" for folder in ("plain", "tde") for gb in (2, 32) for run in (1, 2))


def test_configurations_are_never_taken_for_runs_of_one() -> None:
    assert named("plain", "tde", files=TIERS)["tde/Tier32G-run2.txt"] == ("tde", "2", {"name": "Tier32G"})
    some = named("a", "b", files=("a/io6.log", "a/io7.log", "b/io6.log", "b/io9.log"))
    assert [levels for _, _, levels in some.values()] == [{"name": f"io{at}"} for at in (6, 7, 6, 9)]
    own = named("x", "y", files=("x/mysql-t2g.log", "x/mysql-t3g.log", "y/tde-t2g.log", "y/tde-t3g.log"))
    assert own["y/tde-t3g.log"] == ("y", "1", {"name": "t3g"})
    ends = named("p", "q", files=("p/warm_mysql.log", "p/cold_mysql.log", "q/warm_tde.log", "q/cold_tde.log"))
    assert ends["q/cold_tde.log"] == ("q", "1", {"name": "cold"})


def test_what_all_files_of_a_condition_have_in_common_says_nothing() -> None:
    found = named("mysql", "percona", files=("mysql/8.4.8/run1_RW_64th.txt", "percona/8.4.8-8/run1_RW_64th.txt"))
    assert [(condition, run) for condition, run, _ in found.values()] == [("mysql", "1"), ("percona", "1")]


def test_dates_and_process_ids_only_tell_runs_apart() -> None:
    files = ("plain/2024-05-01_10-00.log", "plain/2024-05-02_10-00.log", "tde/2024-05-03_10-00.log")
    runs = [run for _, run, _ in named("plain", "tde", files=files).values()]
    assert runs == ["2024-05-01_10-00", "2024-05-02_10-00", "1"]
    logs = [
        Named(
            Path(f"{folder}/pgbench_log.{process}{suffix}"),
            Argument(Path(folder)),
            "pgbench log",
            False,
            thread,
            process,
        )
        for folder, process in (("plain", "4711"), ("plain", "4720"), ("tde", "5000"))
        for suffix, thread in (("", "0"), (".1", "1"))
    ]
    assert [(it.condition, it.run) for it in namings(logs).values()] == [
        *[("plain", "4711")] * 2,
        *[("plain", "4720")] * 2,
        *[("tde", "1")] * 2,
    ]


@pytest.mark.parametrize(
    "folders", [("run1", "run2"), ("1", "2"), ("2024-05-01", "2024-05-02"), ("today/1", "today/2")]
)
def test_runs_and_dates_in_the_names_of_folders_are_runs(folders: tuple[str, str]) -> None:
    files = tuple(f"{side}/{folder}/{name}.log" for side in ("plain", "tde") for folder in folders for name in "ab")
    runs = [folder.removeprefix("today/").removeprefix("run") for folder in folders]
    found = [(side, run, {"name": name}) for side in ("plain", "tde") for run in runs for name in "ab"]
    assert list(named("plain", "tde", files=files).values()) == found
    alone = tuple(file for file in files if file.endswith("a.log"))
    globs = named("none=plain/**/a.log", "tde=tde/**/a.log", files=alone)
    assert [(it[1], it[2]) for it in globs.values()] == [(run, {}) for run in runs] * 2


def test_numbers_of_folders_that_do_not_count_are_levels() -> None:
    files = tuple(
        f"{side}/{threads}/run{run}.log" for side in ("plain", "tde") for threads in (1, 64) for run in (1, 2)
    )
    assert named("plain", "tde", files=files)["tde/64/run2.log"] == ("tde", "2", {"name": "64"})


def test_files_of_one_name_are_runs_in_their_order() -> None:
    files = ("plain/out.txt", "plain/out.log", "tde/out.txt")
    assert [it[1] for it in named("plain", "tde", files=files).values()] == ["1", "2", "1"]


def test_two_formats_may_be_views_of_one_run() -> None:
    paths = [Path(f"{name}.{end}") for name in ("plain", "tde") for end in ("raw.csv", "summary.json")]
    files = [Named(path, Argument(path), path.suffix) for path in paths]
    assert {naming.run for naming in namings(files).values()} == {"1"}


def test_files_that_name_their_conditions_keep_a_run_alone() -> None:
    paths = [Path("monday.csv"), Path("results-run7.csv")]
    assert list(namings([Named(it, Argument(it), "CSV", says_itself=True) for it in paths]).values()) == [
        Naming(None, "1"),
        Naming(None, "7"),
    ]
    taken = Argument(paths[0], "plain")
    assert [it.condition for it in namings([Named(paths[0], taken, "CSV", says_itself=True)]).values()] == ["plain"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (("=x",), coded("unexpected", where="'=x'", expected="NAME=GLOB such as plain='results/plain-*.log'")),
        (("none=",), coded("unexpected", where="'none='", expected="NAME=GLOB such as plain='results/plain-*.log'")),
        (("none=*missing*",), coded("glob-matches-nothing", glob="*missing*")),
        (("missing/*.log",), coded("glob-matches-nothing", glob="missing/*.log")),
        (("a=one.log", "b=*.log"), coded("unexpected", found=Part("a"), where="one.log", expected="one configuration")),
    ],
)
def test_arguments_that_do_nothing_are_refused(arguments: tuple[str, ...], found: Coded) -> None:
    Path("one.log").touch()
    with refused(UsageError, found):
        parse_arguments(arguments)


@pytest.mark.parametrize(
    "files",
    [
        ("before/results.log", "after/results.log"),
        ("plain/run1.log", "plain/run2.log", "tde/run1.log", "tde/run2.log"),
        ("run1.log", "run2.log", "run3.log"),
        ("none_a.log", "none_b.log", "tde_a.log", "tde_b.log"),
        tuple(f"{side}/{number}x.log" for side in ("one", "two-tde") for number in range(30)),
    ],
)
def test_the_suggested_command_assigns_every_file(files: tuple[str, ...]) -> None:
    named(*files, files=files)
    program, command, *words = shlex.split(assigning(parse_arguments(files)))
    assert (program, command) == ("tdelta", "analyze")
    found = named(*words, files=files)
    assert set(found) == set(files)
    assert baseline_of({str(condition) for condition, _, _ in found.values()}) == "plain"


@given(
    st.lists(
        st.text(min_size=1, max_size=30).filter(
            lambda text: not set(text) & set("/\0*?[=") and text not in (".", "..")
        ),
        min_size=1,
        max_size=6,
        unique=True,
    )
)
def test_any_names_give_each_file_a_run_of_its_own(names: list[str]) -> None:
    found = namings([Named(Path("results") / name, Argument(Path("results")), FORMAT) for name in names])
    assert len(found) == len(names)
    assert all(naming.condition and naming.run for naming in found.values())
    assert len({(it.condition, it.run, it.levels) for it in found.values()}) == len(names)


PLAIN = ["none", "plain", "noenc", "no-enc", "off", "clear", "baseline", "unencrypted", "notde", "TDE-off", "no_tde"]
ENCRYPTED = ["tde", "enc", "encrypted", "aes-128", "AES256", "aes_256_gcm", "TDE (AES-256)", "on", "luks"]
NEITHER = ["mysql", "encoder", "planet", "offset", "online", "clearance", "monday"]  # words within words


@pytest.mark.parametrize("text", [*PLAIN, *ENCRYPTED, *NEITHER])
def test_words_say_whether_something_is_encrypted(text: str) -> None:
    assert (is_plain(text), is_encrypted(text)) == (text in PLAIN, text in ENCRYPTED)


@pytest.mark.parametrize(
    ("conditions", "baseline"),
    [
        (("aes-256", "none"), "none"),
        (("TDE off", "TDE on"), "TDE off"),
        (("before", "tde"), "before"),
        (("No encryption", "AES-128", "AES-256"), "No encryption"),
        (("mysql-tde", "mysql"), "mysql"),
    ],
)
def test_the_baseline_is_the_one_whose_name_says_so(conditions: tuple[str, ...], baseline: str) -> None:
    assert baseline_of(conditions) == baseline


def test_the_baseline_may_be_named_and_must_be_where_names_do_not_say_it() -> None:
    assert baseline_of(("before", "after"), "before") == "before"
    with refused(UnknownName, "unknown", found=Part("befor"), hint=Part("before")):
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
    ],
)
def test_names_say_whether_it_is_about_encryption(conditions: tuple[str, ...], is_said: bool) -> None:
    assert is_about_encryption(conditions) is is_said
