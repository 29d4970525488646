import pytest

from tdelta.errors import UsageError
from tdelta.records import Measurement, Usage
from tdelta.session import RunRequest, check_request, housing
from tdelta.session.housing import resource_estimate, storage_cautions, with_storage
from tdelta.session.run_plan import Plan, plan

from .served import installed

LEVELS = ("plain", "fscrypt", "gocryptfs")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_request, "require_storage", lambda _level: None)
    monkeypatch.setattr(housing, "needs_images", lambda levels: "fscrypt" in levels)


def made(**options: object) -> Plan:
    return plan(RunRequest(**{"seed": 1, "vary": {"storage": LEVELS}, "aa_control": False, **options}), "r1")


def test_cipher_and_storage_are_varied_together_unless_the_cipher_is_none() -> None:
    assert len(made().conditions) == 6
    alone = made(vary={"storage": LEVELS, "cipher": ("none",)})
    assert [c.level("storage") for c in alone.conditions] == [*LEVELS]
    assert made().storages == LEVELS
    assert not made(vary={}).storages


def test_every_storage_has_copies_of_the_same_loads() -> None:
    assert made().data_templates().keys() == made(vary={}).data_templates().keys()


def test_images_count_for_disk_and_time() -> None:
    without, varied = made(vary={"cipher": ("aes-128", "aes-256", "aegis", "chacha20", "ascon128")}), made()
    assert len(without.instances()) == len(varied.instances())
    for of in (without, varied):
        assert (resource_estimate(of).disk_bytes > of.engine.estimate(of).disk_bytes) is (of is varied)
        assert (resource_estimate(of).start_seconds > of.engine.estimate(of).start_seconds) is (of is varied)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"vary": {"storage": LEVELS, "work": ("warm", "rekey")}}, "--vary work=rekey"),
        ({"vary": {"storage": LEVELS, "during": ("none", "encrypt")}}, "--vary during=encrypt"),
    ],
)
def test_what_leaves_its_folder_is_refused(options: dict[str, object], named: str) -> None:
    with pytest.raises(UsageError) as refused:
        made(**options)
    assert ("conflict", named) in [(r.code, r.parameters.get("one")) for r in refused.value.refusals]


def test_what_is_said_of_every_such_run_and_of_no_other() -> None:
    assert not list(storage_cautions(made(vary={})))
    codes = {caution.code for caution in storage_cautions(made())}
    assert {"storage-mounted", "storage-cached", "storage-kernel-threads", "storage-fuse"} <= codes


def test_a_process_that_encrypts_below_the_database_counts_with_it() -> None:
    own = Usage(cpu_user_seconds=1.0, cpu_system_seconds=0.5, syscall_read_bytes=7, device_read_bytes=100)
    before = Usage(cpu_user_seconds=3.0, cpu_system_seconds=1.0, syscall_read_bytes=50, device_read_bytes=1000)
    after = Usage(cpu_user_seconds=5.0, cpu_system_seconds=2.0, syscall_read_bytes=90, device_read_bytes=1500)
    measured = Measurement(90, 10, {}, {}, usage=own, total_operations=100)
    used = with_storage(measured, before, after).usage
    assert (used.cpu_user_seconds, used.cpu_system_seconds) == pytest.approx((1.0 + 0.9 * 2.0, 0.5 + 0.9 * 1.0))
    assert (used.syscall_read_bytes, used.device_read_bytes) == (7, 600)
    assert with_storage(measured, before, before) == measured


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_the_published_sweep_takes_storage_on_embedded_engines(engine: str) -> None:
    of = plan(RunRequest(seed=1, study="read-only-sweep", engine=engine, vary={"storage": LEVELS}), "r1")
    judged = {(c.level("cipher") != "none", c.level("storage")) for c in of.conditions if c.is_protected}
    assert judged == {(True, level) for level in LEVELS} | {(False, level) for level in LEVELS[1:]}


def test_all_servers_of_such_a_run_go_through_the_systems_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    varied, usual = made(engine="mariadb"), made(engine="mariadb", vary={})
    assert {varied.twin_settings(c, 0).is_buffered for c in varied.conditions} == {True}
    assert {usual.twin_settings(c, 0).is_buffered for c in usual.conditions} == {False}
