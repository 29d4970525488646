import pytest

from support.refused import Part, refused
from tdelta.design.actions import parse_action
from tdelta.engines.registry import ENGINES, dialects
from tdelta.errors import UnknownName, UsageError
from tdelta.session.answer import overridden
from tdelta.session.request import OPTIONS, RunRequest
from tdelta.session.studies import Study, studies
from tdelta.workloads import load


@pytest.mark.parametrize("asked", [{"rate": 100.0}, {"rate": "50%"}, {"vary": {"rate": ("50%", "80%")}}])
def test_trials_of_an_open_loop_are_longer_whoever_asks(asked: dict[str, object]) -> None:
    assert RunRequest(**asked).trial_seconds == 2.0
    assert RunRequest(**{**asked, "trial_seconds": 0.5}).trial_seconds == 0.5


def test_without_a_study_nothing_is_added() -> None:
    assert RunRequest(threads=2) == RunRequest().replace(threads=2)
    assert overridden(RunRequest(threads=2)) == ()


def test_order_entry_is_the_published_factorial() -> None:
    request = RunRequest(study="order-entry")
    assert request.vary == {"cipher": ("aes-128", "aes-256"), "aes_instructions": ("on", "off")}
    assert (request.threads, request.workload) == (4, "order-entry")
    assert request.max_seconds < 360, "the issue allows six minutes"
    assert overridden(request) == ()
    assert overridden(request.replace(bb_control=True)) == (), "which the run decides by its time"


def test_the_warehouse_is_queried_from_memory_and_from_disk() -> None:
    request = RunRequest(study="warehouse")
    works = ("load", "rebuild", "warm", "cold")
    assert request.vary == {"work": works, "cipher": ("aes-256-gcm", "aes-256-gcm-mbedtls")}, (
        "software AES, as published"
    )
    assert RunRequest(study="warehouse", engine="mariadb").vary == {"work": works}, "the cipher is its own"
    assert (request.engine, request.workload, request.cache) == ("duckdb", "warehouse", 1.2)
    assert request.max_seconds <= 900, "the issue allows fifteen minutes"
    published = RunRequest(study="warehouse", study_size="published")
    rows = load("warehouse", dialects()).rows(load("warehouse", dialects()).scale_for(published.size_bytes))
    assert rows == {"fact_sales": pytest.approx(100_000_000, rel=0.01)}


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "mariadb", "mysql", "postgres"])
def test_the_warehouse_fits_every_engine(engine: str) -> None:
    for size in ("", "published"):
        request = RunRequest(**{"study": "warehouse", "engine": engine} | ({"study_size": size} if size else {}))
        assert (request.warmup_seconds or 0.0) < request.trial_seconds
        assert (request.max_seconds > 900) is (size == "published")


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "mariadb", "mysql", "postgres"])
def test_spilling_fits_every_engine_and_has_less_memory_than_data(engine: str) -> None:
    request = RunRequest(study="spill", engine=engine)
    assert overridden(request) == ()
    assert request.max_seconds <= 900, "the issue allows fifteen minutes"
    assert load(request.workload or "", dialects()).spills
    memory = request.session_memory or request.cache * request.size_bytes
    assert memory < request.size_bytes
    has_scopes = engine in ("mariadb", "duckdb")
    assert request.vary.get("scope") == (("data", "+temp") if has_scopes else None)


RUN = [(one.name, engine) for one in studies() if one.runs for engine in ENGINES if one.runs_on(engine)]


@pytest.mark.parametrize(("study", "engine"), RUN)
def test_a_study_is_its_own_settings_and_short(study: str, engine: str) -> None:
    request = RunRequest(study=study, engine=engine)
    assert overridden(request) == ()
    minutes = 25 if study == "read-only-sweep" else 15
    assert request.max_seconds <= 60 * minutes
    for level in request.vary.get("during", ()):
        parse_action(str(level))


def test_a_study_runs_on_the_engines_that_it_has_settings_for_or_on_any() -> None:
    by_name = {one.name: one for one in studies()}
    assert by_name["capacity"].runs_on("oracle")
    assert by_name["replicate"].runs_on("mysql")
    assert not by_name["replicate"].runs_on("sqlite")
    assert not by_name["response-times"].runs_on("sqlite"), "it runs nothing"


@pytest.mark.parametrize("study", studies(), ids=lambda study: study.name)
def test_a_file_of_a_study_names_engines_and_options_that_exist(study: Study) -> None:
    assert {*study.of_engines, *study.on_own_servers} <= ENGINES.keys()
    own = {**study.of_engines, "": study.settings, "published": study.at_published_size}
    for settings in (*own.values(), *study.on_own_servers.values()):
        assert settings.keys() <= OPTIONS.keys()
    for engine, settings in study.of_engines.items():
        assert settings.items() <= study.settings_for(engine, "").items()


def test_an_option_that_is_typed_goes_before_the_study_and_is_told() -> None:
    request = RunRequest(study="order-entry", threads=1, seed=5)
    assert request.threads == 1
    assert overridden(request) == (("threads", "1", "4"),)


def test_settings_that_were_changed_are_written_as_they_are_typed() -> None:
    changed = {"size_bytes": 20_000_000, "max_seconds": 420.0, "min_rounds": 1, "max_rounds": 2, "aa_control": False}
    assert [str(one) for one in overridden(RunRequest(study="order-entry", **changed))] == [
        "--size 20MB instead of 50MB",
        "--no-aa given instead of not given",
        "--rounds 1..2 instead of 3",
        "--max-time 7m instead of 5m",
    ]


def test_a_threshold_asks_more_of_the_same_trials_and_changes_no_study() -> None:
    assert overridden(RunRequest(study="order-entry", latency_limit_seconds=0.02)) == ()


def test_a_factor_that_is_typed_replaces_the_studys_levels_of_that_factor_only() -> None:
    request = RunRequest(study="order-entry", vary={"cipher": ("chacha20",)})
    assert request.vary == {"aes_instructions": ("on", "off"), "cipher": ("chacha20",)}
    assert overridden(request) == (("cipher", "chacha20", "aes-128, aes-256"),)


def test_a_setting_of_the_study_can_be_varied_instead() -> None:
    request = RunRequest(study="order-entry", vary={"threads": (1, 4)})
    assert request.threads == RunRequest().threads
    assert request.vary["threads"] == (1, 4)
    assert overridden(request) == (("threads", "1, 4", "4"),)


def test_unknown_and_planned_studies_are_refused() -> None:
    with refused(UnknownName, "unknown", found=Part("order_entry"), hint=Part("order-entry")):
        RunRequest(study="order_entry")
    planned = [study.name for study in studies() if not study.runs]
    for name in planned:
        with refused(UsageError, "study-does-not-run", study=name, command=Part("tdelta analyze published")):
            RunRequest(study=name)
