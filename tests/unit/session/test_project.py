import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from support.refused import refused
from tdelta.errors import ProjectError, UsageError
from tdelta.records import Metric
from tdelta.session.project import KEYS, Project, project_text, read_project, runs_of
from tdelta.session.project_file import FILE, found_above
from tdelta.session.request import OPTIONS, RunRequest


def project(tmp_path: Path, text: str) -> Project:
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    return read_project(tmp_path / FILE)


def faults(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    with pytest.raises(ProjectError) as raised:
        runs_of(project(tmp_path, text), {})
    return [(str(refusal.parameters["where"]).split(": ")[0], refusal.code) for refusal in raised.value.refusals]


def requests(tmp_path: Path, text: str, **typed: object) -> list[RunRequest]:
    return [run.request for run in runs_of(project(tmp_path, text), typed)]


def test_an_empty_file_is_a_run_as_without_options(tmp_path: Path) -> None:
    assert requests(tmp_path, "") == [RunRequest()]


def test_every_option_that_can_be_typed_has_its_key(tmp_path: Path) -> None:
    flags = {option.flag for option in OPTIONS.values() if option.flag.startswith("--")}
    assert {f"--{key}" for key in KEYS} == flags


def test_options_stand_under_their_own_names(tmp_path: Path) -> None:
    text = """
        budget = "5%"
        max-time = "1h30m"
        rounds = "3..5"
        threads = 4
        trial-time = "0.5s"
        metric = "cpu_per_operation"
        no-bb = true
        trace = false
        page-size = "8KiB"
        labels = ["ci", "v1"]
    """
    asked = RunRequest(
        budget=0.05,
        max_seconds=5400.0,
        min_rounds=3,
        max_rounds=5,
        threads=4,
        trial_seconds=0.5,
        metric=Metric.CPU_PER_OPERATION,
        bb_control=False,
        page_size=8192,
        labels=("ci", "v1"),
    )
    assert requests(tmp_path, text) == [asked]


@pytest.mark.parametrize(
    "text",
    [
        'vary = ["cipher=aes-128,aes-256", "cache=10%,120%"]',
        'vary = { cipher = ["aes-128", "aes-256"], cache = ["10%", "120%"] }',
        '[vary]\ncipher = ["aes-128", "aes-256"]\ncache = ["10%", "120%"]',
    ],
)
def test_factors_are_lists_or_tables(tmp_path: Path, text: str) -> None:
    vary = {"cipher": ("aes-128", "aes-256"), "cache": (0.1, 1.2)}
    assert requests(tmp_path, text) == [RunRequest(vary=vary)]


def test_paths_are_meant_from_the_files_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    found = project(tmp_path, 'workload = "mine"\nstore = "runs.sqlite"\nlibrary = "./lib.so"\ndir = "/d"').options
    assert found == {
        "workload": str(tmp_path / "mine"),
        "store": tmp_path / "runs.sqlite",
        "library": str(tmp_path / "lib.so"),
        "directory": Path("/d"),
    }
    built_in = project(tmp_path, 'workload = "point-select"\nlibrary = "sqlcipher"').options
    assert built_in == {"workload": "point-select", "library": "sqlcipher"}


def test_the_files_that_a_dsn_names_are_meant_from_there_too(tmp_path: Path) -> None:
    text = 'baseline = "mysql://a@b/?password-file=p"\nencrypted = "mysql://a@c/?password-file=/q"'
    (found,) = requests(tmp_path, text)
    assert f"password-file={tmp_path}/p" in str(found.baseline)
    assert "password-file=/q" in str(found.encrypted)


def test_each_study_runs_on_each_engine_in_turn(tmp_path: Path) -> None:
    found = runs_of(project(tmp_path, 'studies = ["backup", "spill"]\nengines = ["sqlite", "duckdb"]'), {})
    assert [(run.study, run.engine) for run in found] == [
        ("backup", "sqlite"),
        ("backup", "duckdb"),
        ("spill", "sqlite"),
        ("spill", "duckdb"),
    ]
    assert found[1].request == RunRequest(study="backup", engine="duckdb")


def test_the_nearer_option_goes_first_and_what_is_typed_before_all(tmp_path: Path) -> None:
    text = """
        studies = ["backup", "spill"]
        engines = ["sqlite", "duckdb"]
        threads = 1
        max-time = "1m"
        [engine.duckdb]
        threads = 2
        max-time = "2m"
        [study.spill]
        max-time = "3m"
    """
    found = [(one.threads, one.max_seconds) for one in requests(tmp_path, text)]
    assert found == [(1, 60.0), (2, 120.0), (1, 180.0), (2, 180.0)]
    assert {one.max_seconds for one in requests(tmp_path, text, max_seconds=5.0)} == {5.0}


def test_a_study_or_an_engine_that_is_typed_leaves_its_runs(tmp_path: Path) -> None:
    text = 'studies = ["backup", "spill"]\nengines = ["sqlite", "duckdb"]\n[engine.duckdb]\nthreads = 2'
    assert requests(tmp_path, text, engine="duckdb", study="spill") == [
        RunRequest(study="spill", engine="duckdb", threads=2)
    ]


def test_all_faults_are_told_at_once_each_with_its_line(tmp_path: Path) -> None:
    text = """engines = ["sqlite", "sqlit"]
studies = []
budget = 5
max-time = "5"
threads = 0
bugdet = "5%"
no-aa = "yes"
metric = "cpu"
rate = -1
vary = ["cipher"]
label = ["a b"]
labels = ["x"]
[study.order-entry]
thread = 1
"""
    assert faults(tmp_path, text) == [
        ("tdelta.toml:1", "unknown"),
        ("tdelta.toml:2", "missing"),
        ("tdelta.toml:3", "unexpected"),
        ("tdelta.toml:4", "unexpected"),
        ("tdelta.toml:5", "unexpected"),
        ("tdelta.toml:6", "unknown"),
        ("tdelta.toml:7", "unexpected"),
        ("tdelta.toml:8", "unexpected"),
        ("tdelta.toml:9", "unexpected"),
        ("tdelta.toml:10", "unexpected"),
        ("tdelta.toml:12", "conflict"),
        ("tdelta.toml:13", "unknown"),
        ("tdelta.toml:14", "unknown"),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("engines = [", "invalid"),
        ('engine = "sqlite"\nengines = ["duckdb"]', "conflict"),
        ("engine = 3", "unexpected"),
        ('study = "none"', "unknown"),
        ("study.order-entry = 3", "out-of-range"),
        ("labels = [3]", "unexpected"),
        ("vary = { cipher = [true] }", "unexpected"),
        ('seed = "x"', "unexpected"),
        ('workload = "a\\u001b[2J"', "unexpected"),
        ("a = " + "[" * 40 + "]" * 40, "too-many"),
    ],
)
def test_what_cannot_stand_there_is_refused(tmp_path: Path, text: str, code: str) -> None:
    assert code in [found for _, found in faults(tmp_path, text)]


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    with refused(ProjectError, "file-missing"):
        read_project(tmp_path / FILE)


@pytest.mark.parametrize(
    "text",
    [
        'baseline = "mysql://me:geheim@db1/"',
        'encrypted = "postgres://me:geheim@db2/"',
        'load-generator = "sysbench --mysql-password=geheim oltp_read_only run"',
        'restore = "PGPASSWORD=geheim psql -f app.sql"',
        "engines = ['mariadb']\n[engine.mariadb]\nload-generator = \"work --password 'geheim'\"",
        'restore = "mariadb -pgeheim {database} < x.sql"',
        'restore = "psql postgresql://u:geheim@h/db -f x"',
        'baseline = ["mysql://me:geheim@db1/"]',
    ],
)
def test_a_password_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    with pytest.raises(ProjectError) as raised:
        project(tmp_path, text)
    assert "geheim" not in str(raised.value)
    (refusal,) = raised.value.refusals
    assert refusal.code in {"project-password", "unexpected"}
    assert refusal.code in refusal.TEMPLATES


@pytest.mark.parametrize("key", ["scope", "metric", "max-time", "engine", "colour"])
def test_a_dsn_in_the_wrong_place_is_not_repeated_with_its_password(tmp_path: Path, key: str) -> None:
    with pytest.raises(ProjectError) as raised:
        project(tmp_path, f'{key} = "ql://me:geheim@db2/"')
    assert "geheim" not in str(raised.value)


def test_an_address_in_a_fault_of_a_run_is_not_repeated_with_its_password(tmp_path: Path) -> None:
    with pytest.raises(ProjectError) as raised:
        runs_of(project(tmp_path, 'ray = "u:geheim@h:1"'), {})
    assert "geheim" not in str(raised.value)


def test_a_password_that_is_elsewhere_is_fine(tmp_path: Path) -> None:
    project(tmp_path, 'engine = "mariadb"\nload-generator = "work --password=$PW --user {user} --password={password}"')


def test_what_does_not_go_together_is_told_of_all_runs(tmp_path: Path) -> None:
    text = 'engines = ["sqlite", "duckdb"]\nrate = 5.0\nvary = ["rate=60%"]'
    assert [place for place, _ in faults(tmp_path, text)] == ["run on sqlite", "run on duckdb"]


def test_the_nearest_file_above_is_the_projects(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / FILE).touch()
    assert found_above(below) == tmp_path / FILE
    (tmp_path / "a" / FILE).touch()
    assert found_above(below) == tmp_path / "a" / FILE


def test_a_text_is_read_back_as_it_was_meant(tmp_path: Path) -> None:
    values = {"engines": ["sqlite"], "labels": ['a"b\\c', "é"], "threads": 4, "trial-time": "0.5s", "self-test": True}
    text = project_text({**values, "studies": [], "budget": None}, tmp_path / FILE)
    assert tomllib.loads(text) == values
    assert requests(tmp_path, text) == [
        RunRequest(engine="sqlite", labels=('a"b\\c', "é"), threads=4, trial_seconds=0.5, self_test=True)
    ]


@pytest.mark.parametrize("key", ["engine", "study"])
def test_a_value_where_a_name_or_a_table_belongs_is_named_by_its_key(tmp_path: Path, key: str) -> None:
    (tmp_path / "tdelta.toml").write_text(f"{key} = 4\n")
    with pytest.raises(ProjectError) as refused:
        read_project(tmp_path / "tdelta.toml")
    assert [str(fault.parameters["where"]).split(": ")[-1] for fault in refused.value.refusals] == [key]


STRANGER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user, which only root may")


@pytest.fixture
def written_project(tmp_path: Path) -> Path:
    """A folder with a project file, and a folder ``below`` it."""
    folder = tmp_path / "project"
    (folder / "below").mkdir(parents=True)
    (folder / FILE).write_text("threads = 2\n")
    return folder


def test_a_file_of_ones_own_is_found_also_where_its_group_may_write(written_project: Path) -> None:
    written_project.chmod(0o775)
    (written_project / FILE).chmod(0o664)
    assert found_above(written_project / "below") == written_project / FILE


@needs_root
@pytest.mark.parametrize("name", [FILE, "."])
def test_what_another_user_owns_is_not_obeyed(written_project: Path, name: str) -> None:
    os.chown(written_project / name, STRANGER, STRANGER)
    with refused(UsageError, "project-not-trusted", name=written_project / FILE):
        found_above(written_project / "below")


@pytest.mark.parametrize(("name", "mode"), [(FILE, 0o666), (".", 0o777), (".", 0o1777)])
def test_what_everybody_may_write_to_is_not_obeyed(written_project: Path, name: str, mode: int) -> None:
    (written_project / name).chmod(mode)
    with refused(UsageError, "project-not-trusted", path=written_project / FILE):
        found_above(written_project / "below")


def test_a_link_is_trusted_as_far_as_what_it_leads_to(written_project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (written_project / FILE).rename(elsewhere / FILE)
    (written_project / FILE).symlink_to(elsewhere / FILE)
    assert found_above(written_project) == written_project / FILE
    elsewhere.chmod(0o777)
    with refused(UsageError, "project-not-trusted", name=written_project / FILE):
        found_above(written_project)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("../submodule/tdelta.toml"),
        lambda path: path.symlink_to(path.name),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.mkdir(),
        os.mkfifo,
    ],
    ids=["dangling", "loop", "device", "folder", "pipe"],
)
def test_a_file_that_cannot_be_read_is_an_error_and_no_run_without_it(
    written_project: Path, make: Callable[[Path], object]
) -> None:
    (written_project / "below" / FILE).unlink(missing_ok=True)
    make(written_project / "below" / FILE)
    with refused(UsageError, "project-unreadable", path=written_project / "below" / FILE):
        found_above(written_project / "below")
