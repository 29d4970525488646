import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.fake_twins import FakeClock
from support.refused import Coded, Part, check_messages, coded, has, refused
from tdelta.engines.base import Engine
from tdelta.engines.sqlite.libraries import SQLCIPHER, Library
from tdelta.errors import TimeFault, UnknownName, UsageError, WorkloadError
from tdelta.records import Metric, Role
from tdelta.session import RunRequest, conduct, dry_run, plan

SHARES = st.floats(0.001, 2.0)
COUNTS = st.integers(1, 100)
REQUESTS = st.builds(
    RunRequest,
    study=st.none() | st.just("order-entry"),
    library=st.sampled_from(["sqlite3mc", "sqlcipher", "/somewhere/libsqlite3.so"]),
    key=st.none() | st.sampled_from(["passphrase", "raw"]),
    workload=st.none() | st.just("read-only"),
    database=st.none() | st.just(Path("/somewhere/app.db")),
    page_size=st.none() | st.just(8192),
    vary=st.dictionaries(st.sampled_from(["threads", "page_size"]), st.lists(COUNTS, max_size=3).map(tuple))
    | st.dictionaries(st.just("cipher"), st.just(("aes-128", "aegis")))
    | st.dictionaries(st.just("cache"), st.lists(SHARES, max_size=3).map(tuple)),
    threads=COUNTS,
    cache=SHARES,
    size_bytes=st.integers(1, 10**12),
    rate=st.none() | st.floats(0.1, 1e6),
    temp_store=st.sampled_from(["default", "file", "memory"]),
    max_rounds=st.none() | COUNTS,
    budget=st.none() | SHARES,
    metric=st.sampled_from(Metric),
    latency_limit_seconds=st.none() | st.floats(1e-6, 3600.0),
    self_test=st.booleans(),
    inject=st.lists(SHARES, max_size=3).map(tuple),
    seed=st.none() | st.integers(0, 2**63 - 1),
    directory=st.none() | st.just(Path("/somewhere/else")),
    store=st.none() | st.just(Path("/somewhere/runs.sqlite")),
)


@given(REQUESTS)
def test_a_request_comes_back_from_json_as_it_was(request_: RunRequest) -> None:
    assert RunRequest.from_json(json.loads(json.dumps(request_.to_json()))) == request_


def test_paths_of_a_stored_request_do_not_depend_on_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    given = RunRequest(
        directory=Path("twins"), store=Path("runs.sqlite"), workload="mine", library="./lib.so", database=Path("app.db")
    )
    stored = given.to_json()
    assert [stored[name] for name in ("directory", "store", "workload", "library", "database")] == [
        str(tmp_path / name) for name in ("twins", "runs.sqlite", "mine", "lib.so", "app.db")
    ]


def test_without_anything_asked_plain_is_compared_with_aes_256() -> None:
    made = plan(RunRequest(), "r")
    found = [(condition.role, condition.level("cipher")) for condition in made.conditions]
    assert found == [(Role.BASELINE, "none"), (Role.AA, "none"), (Role.TREATMENT, "aes-256")]
    assert (made.settings.study, made.settings.workload) == ("", "order-entry")


def test_varying_something_else_keeps_the_default_cipher() -> None:
    made = plan(RunRequest(vary={"threads": (1, 2)}), "r")
    assert {condition.level("cipher") for condition in made.conditions} == {"none", "aes-256"}


def test_the_seed_that_was_drawn_is_in_the_stored_options() -> None:
    settings = plan(RunRequest(), "r").settings
    assert settings.options["seed"] == settings.seed


def test_the_same_seed_lays_out_the_same_run() -> None:
    one, other = (plan(RunRequest(seed=11), "r") for _ in range(2))
    assert (one.settings, one.fingerprint()) == (other.settings, other.fingerprint())


def test_reserved_bytes_are_the_most_that_any_cipher_needs() -> None:
    made = plan(RunRequest(vary={"cipher": ("chacha20", "sqlcipher")}), "r")
    assert {made.twin_settings(condition, 0).reserved_bytes for condition in made.conditions} == {80}


def test_one_file_is_loaded_for_each_cipher_and_page_size_the_plain_ones_first() -> None:
    made = plan(RunRequest(vary={"cipher": ("aes-256",), "page_size": (4096, 8192), "threads": (1, 2)}), "r")
    assert list(made.data_templates()) == [("none", 4096), ("none", 8192), ("aes-256", 4096), ("aes-256", 8192)]


@pytest.fixture
def plain_library(monkeypatch: pytest.MonkeyPatch) -> str:
    """A SQLite library by path that encrypts nothing."""
    found = Library("/lib/libsqlite3.so.0", "sqlite", "none", version="SQLite 3.40.1", sha256="ab12")
    monkeypatch.setattr("tdelta.engines.sqlite.driver.find_library", lambda _text: found)
    return found.name


@pytest.fixture
def sqlcipher(monkeypatch: pytest.MonkeyPatch) -> str:
    found = dataclasses.replace(SQLCIPHER, distribution=None, version="SQLCipher 4.19.0")
    monkeypatch.setattr("tdelta.engines.sqlite.driver.find_library", lambda _text: found)
    return found.name


@pytest.mark.parametrize(
    "asked", [{"self_test": True}, {"inject": (0.1,)}, {"self_test": True, "vary": {"threads": (1, 2)}}]
)
def test_a_library_without_ciphers_can_be_compared_with_itself(plain_library: str, asked: dict[str, object]) -> None:
    made = plan(RunRequest(library=plain_library, **asked), "r")
    assert {condition.level("cipher") for condition in made.conditions} == {"none"}


@pytest.mark.parametrize("asked", [{}, {"vary": {"threads": (1, 2)}}, {"vary": {"cipher": ("aes-256",)}}])
def test_a_library_without_ciphers_has_nothing_else_to_be_compared_with(
    plain_library: str, asked: dict[str, object]
) -> None:
    with refused(UsageError, "plain-library", engine="SQLite", cipher="aes-256", library=plain_library):
        plan(RunRequest(library=plain_library, **asked), "r")


@pytest.mark.parametrize(
    ("asked", "kind"),
    [({}, "raw"), ({"workload": "connect"}, "passphrase"), ({"workload": "connect", "key": "raw"}, "raw")],
)
def test_how_keys_are_given_is_decided_and_recorded(sqlcipher: str, asked: dict[str, object], kind: str) -> None:
    made = plan(RunRequest(library=sqlcipher, **asked), "r")
    assert {made.twin_settings(condition, 0).key_kind for condition in made.conditions} == {kind}
    assert made.settings.options["key"] == kind


def test_how_keys_are_given_is_not_recorded_where_there_is_no_choice() -> None:
    assert plan(RunRequest(), "r").settings.options["key"] is None


def test_ciphers_are_those_of_the_library_that_was_named(sqlcipher: str) -> None:
    made = plan(RunRequest(library=sqlcipher, vary={"cipher": ("aes-256-no-hmac",)}), "r")
    reserved = {c.level("cipher"): made.twin_settings(c, 0).reserved_bytes for c in made.conditions}
    assert reserved == {"none": 16, "aes-256-no-hmac": 16}
    with refused(UnknownName, "unknown", kind="cipher", found=Part("aes-128"), hint=Part("aes-256")):
        plan(RunRequest(library=sqlcipher, vary={"cipher": ("aes-128",)}), "r")


def test_a_dry_run_of_connections_expects_the_longest_trials_of_twins_that_derive_keys() -> None:
    usual, connecting = (dry_run(RunRequest(workload=name, bb_control=False)) for name in ("point-select", "connect"))
    trials = usual.trials_at_least / 3 + RunRequest().min_rounds  # of one condition, with its warm-ups
    assert connecting.seconds_at_least - usual.seconds_at_least == pytest.approx(trials * (8 * 0.25 - 0.345))


def test_several_faults_are_named_at_once() -> None:
    asked = RunRequest(
        vary={"cipher": ("aes-255", "none", "rot13")},
        page_size=1000,
        synchronous="sometimes",
        key="raw",
        threads=0,
        size_bytes=0,
        max_rounds=1,
        latency_limit_seconds=7200.0,
    )
    with pytest.raises(UsageError) as raised:
        plan(asked, "r")
    codes = {refusal.code for refusal in raised.value.refusals}
    assert {"unexpected", "unknown", "key-kind", "out-of-range"} <= codes
    assert has(raised.value.refusals, "out-of-range", what="--latency-limit")
    assert "text" not in codes
    told = str(raised.value)
    for fault in (
        "aes-255",
        "rot13",
        "page_size: expected bytes, one of 512",
        "sometimes",
        "--key raw",
        "threads: expected a whole number",
        "--size must be above 0",
        "--rounds must be",
        "--latency-limit must be 1us to 1h, found 7200 s",
    ):
        assert fault in told


@pytest.mark.parametrize(
    ("asked", "error", "told"),
    [
        ({"engine": "sqlit"}, UnknownName, coded("unknown", kind="engine", found=Part("sqlit"), hint=Part("sqlite"))),
        ({"engine": "oracle"}, UsageError, coded("requires", needs=Part("--baseline"))),
        ({"library": "sqlite3mcc"}, UsageError, coded("unknown-library", unknown=Part("'sqlite3mc'?"))),
        ({"library": "./missing.so"}, UsageError, coded("path-unusable", path="./missing.so")),
        ({"key": "raw"}, UsageError, coded("key-kind", other="sqlcipher", key="raw", kinds="passphrase")),
        (
            {"page_size": 512, "vary": {"cipher": ("aegis",)}},
            UsageError,
            coded("narrow-page", page_size=512, usable=448, reserved=64),
        ),
        (
            {"vary": {"cipher": ("aegis",), "page_size": (512, 4096)}},
            UsageError,
            coded("narrow-page", page_size=512, usable=448, reserved=64),
        ),
        (
            {"study": "order-entri"},
            UnknownName,
            coded("unknown", kind="study", found=Part("order-entri"), hint=Part("order-entry")),
        ),
        (
            {"study": "response-times"},
            UsageError,
            coded("study-does-not-run", study="response-times", command="tdelta analyze published:response-times"),
        ),
        (
            {"study": "response-times", "workload": "read-only"},
            UsageError,
            coded("study-does-not-run", study="response-times", command="tdelta analyze published:response-times"),
        ),
        (
            {"workload": "read-onyl"},
            UnknownName,
            coded("unknown", kind="workload", found=Part("read-onyl"), hint=Part("read-only")),
        ),
        ({"workload": "./missing"}, WorkloadError, coded("no-folder", where="missing")),
        (
            {"vary": {"cipher": ("aes-265",)}},
            UnknownName,
            coded("unknown", kind="cipher", found=Part("aes-265"), hint=Part("aes-256")),
        ),
        (
            {"vary": {"cifer": ("none",)}},
            UnknownName,
            coded("unknown", kind="factor", found=Part("cifer"), hint=Part("cipher")),
        ),
        ({"vary": {"threads": (1, "many")}}, UsageError, coded("unexpected", where="threads", found="many")),
        ({"vary": {"cache": (10,)}}, UsageError, coded("unexpected", where="cache", found="10")),
        ({"vary": {"cache": (0.1, -0.5)}}, UsageError, coded("unexpected", where="cache", found="-50%")),
        ({"vary": {"page_size": ("5k",)}}, UsageError, coded("unexpected", where="page_size", found="5k")),
        ({"vary": {"cipher": ("none",)}}, UsageError, coded("nothing-to-compare")),
        (
            {"self_test": True, "inject": (9.0,)},
            UsageError,
            coded("out-of-range", found=9.0, what="an injected slowdown"),
        ),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_remedy(
    asked: dict[str, object], error: type[UsageError], told: Coded
) -> None:
    with refused(error, told) as raised:
        plan(RunRequest(**asked), "r")
    assert raised.value.exit_code == 2


def test_a_dry_run_makes_nothing_and_counts_trials_files_and_memory(tmp_path: Path) -> None:
    made = dry_run(RunRequest(directory=tmp_path / "twins", size_bytes=50_000_000, bb_control=False))
    assert (made.trials_at_least, len(made.conditions)) == (3 * 6 * 3, 3)
    assert made.disk_bytes == pytest.approx(50e6 * (2 + 3 * 1.3), rel=0.02)
    assert made.memory_bytes > 3 * 0.10 * 50e6
    assert not (tmp_path / "twins").exists()


def test_a_dry_run_that_will_be_cut_short_says_so() -> None:
    told = dry_run(RunRequest(max_seconds=30.0))
    least = f"{told.seconds_at_least:.0f} s"
    cut = coded("time-short", rounds=3, needed=least, given="30 s")
    check_messages(told.cautions, cut)
    assert any("bb" in condition for condition in told.conditions)
    assert told.faults == ()


def test_a_dry_run_names_all_that_there_is_no_room_for(tmp_path: Path) -> None:
    told = dry_run(RunRequest(size_bytes=10**13, directory=tmp_path))
    time, disk, memory = told.faults
    assert [fault.code for fault in told.faults] == ["time-too-short", "disk-too-small", "memory-too-small"]
    assert re.match(r"--max-time is too short \(85 s; at least (\d+) h\): .*; use --max-time \1h, less data", str(time))
    assert disk.parameters["found"] != disk.parameters["needed"]
    assert memory.parameters["found"] != memory.parameters["needed"]
    assert told.seconds_least < told.seconds_at_least
    check_messages(told.cautions, "no-bb-twin", lacking=Part("the shortest run"))


def test_a_dry_run_and_the_refusal_of_the_run_name_the_same_time(tmp_path: Path) -> None:
    request = RunRequest(max_seconds=5.0, directory=tmp_path / "twins", store=tmp_path / "runs.sqlite")
    (said,) = dry_run(request).faults
    with refused(TimeFault, said.code, **said.parameters) as raised:
        conduct(request, lambda _: None, now=FakeClock())
    assert raised.value.exit_code == 2
    assert not (tmp_path / "twins").exists()
    enough = request.replace(max_seconds=raised.value.least_seconds)
    assert dry_run(enough).faults == ()


def test_every_field_of_a_request_is_stored() -> None:
    assert RunRequest().to_json().keys() == {field.name for field in dataclasses.fields(RunRequest)}


def test_a_folder_that_is_called_like_a_built_in_workload_does_not_take_its_place_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "order-entry").mkdir()
    assert RunRequest(workload="order-entry").to_json()["workload"] == "order-entry"


def test_a_studys_cipher_that_the_library_lacks_is_told_as_the_studys() -> None:
    request = RunRequest(study="order-entry", library="sqlcipher")
    with refused(
        UsageError,
        "study-without-cipher",
        known=Part("aes"),
        study="order-entry",
        cipher="aes-128",
        product="SQLCipher",
    ):
        plan(request, "r")
    chosen = RunRequest(study="order-entry", library="sqlcipher", vary={"cipher": ("aes-256",)})
    assert {c.level("cipher") for c in plan(chosen, "r").conditions} == {"none", "aes-256"}


@pytest.mark.parametrize(
    ("ciphers", "default"),
    [(("none", "aes-128", "aes-256"), "aes-256"), (("none", "directory"), "directory"), (("none",), "aes-256")],
)
def test_the_default_is_aes_256_or_the_only_cipher_there_is(ciphers: tuple[str, ...], default: str) -> None:
    chosen: Any = SimpleNamespace(ciphers=ciphers)
    default_ciphers: Any = Engine.default_ciphers
    assert default_ciphers.fget(chosen) == (default,)


@pytest.mark.parametrize("options", [{"self_test": True}, {"inject": (0.05,)}])
def test_identical_copies_are_measured_and_not_held_to_a_budget(options: dict[str, Any]) -> None:
    with refused(UsageError, "conflict", one=Part("--"), other="--budget"):
        plan(RunRequest(**options, budget=0.05), "r")
