import platform
import re
from pathlib import Path

import pytest

import tdelta
from tdelta.measure import aes
from tdelta.measure.aes import (
    OPENSSL_VARIABLE,
    OPENSSL_WORD,
    CryptoKind,
    Preload,
    PreloadMode,
    cannot_hide,
    cpu_has_aes,
    hidden_environment,
    preload,
    preload_path,
)

from .machines import ARM_CPUINFO, X86_CPUINFO, machine


@pytest.fixture
def on_x86(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The root of an x86-64 machine with AES instructions, and an installation with its preload."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    installed = tmp_path / "site" / "libno_aes.so"
    installed.parent.mkdir()
    installed.touch()
    monkeypatch.setattr(aes, "preload_path", lambda: installed)
    return machine(tmp_path / "root", proc__cpuinfo=X86_CPUINFO)


def test_a_cpu_tells_whether_it_has_aes(tmp_path: Path) -> None:
    assert cpu_has_aes(machine(tmp_path / "with", proc__cpuinfo=X86_CPUINFO))
    assert not cpu_has_aes(machine(tmp_path / "without", proc__cpuinfo=X86_CPUINFO.replace(" aes ", " ")))
    assert not cpu_has_aes(tmp_path / "nothing")


def test_openssl_is_told_by_its_own_variable_and_nothing_else() -> None:
    assert hidden_environment(CryptoKind.OPENSSL, {OPENSSL_VARIABLE: ":~0x20"}) == {OPENSSL_VARIABLE: OPENSSL_WORD}


def test_a_go_program_is_told_by_gos_variable_behind_what_is_there() -> None:
    assert hidden_environment(CryptoKind.GO, {}) == {"GODEBUG": "cpu.aes=off"}
    assert hidden_environment(CryptoKind.GO, {"GODEBUG": "cpu.aes=on"}) == {"GODEBUG": "cpu.aes=on,cpu.aes=off"}


def test_a_library_that_asks_itself_gets_the_preload_in_front_of_what_is_there() -> None:
    path = str(preload_path())
    assert hidden_environment(CryptoKind.OWN, {}) == {"LD_PRELOAD": path}
    assert hidden_environment(CryptoKind.OWN, {"LD_PRELOAD": ""}) == {"LD_PRELOAD": path}
    inherited = {"LD_PRELOAD": "/usr/lib/libjemalloc.so.2 /opt/x.so"}
    assert hidden_environment(CryptoKind.OWN, inherited) == {
        "LD_PRELOAD": f"{path}:/usr/lib/libjemalloc.so.2 /opt/x.so"
    }


def test_without_being_told_the_environment_is_this_process_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/opt/x.so")
    assert hidden_environment(CryptoKind.OWN)["LD_PRELOAD"].endswith("libno_aes.so:/opt/x.so")


@pytest.mark.parametrize("kind", list(CryptoKind))
def test_x86_with_aes_can_hide_it(on_x86: Path, kind: CryptoKind) -> None:
    assert cannot_hide(kind, on_x86) is None


@pytest.mark.parametrize("kind", list(CryptoKind))
def test_another_architecture_cannot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: CryptoKind) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    root = machine(tmp_path, proc__cpuinfo=ARM_CPUINFO)
    assert "aarch64" in (cannot_hide(kind, root) or "")


@pytest.mark.parametrize("kind", list(CryptoKind))
def test_where_there_are_no_instructions_there_is_nothing_to_switch(on_x86: Path, kind: CryptoKind) -> None:
    machine(on_x86, proc__cpuinfo=X86_CPUINFO.replace(" aes ", " "))
    assert "/proc/cpuinfo" in (cannot_hide(kind, on_x86) or "")


def test_a_preload_that_was_not_built_is_named_with_what_builds_it(
    on_x86: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aes, "preload_path", lambda: Path("/nowhere/libno_aes.so"))
    assert cannot_hide(CryptoKind.OPENSSL, on_x86) is None
    reason = cannot_hide(CryptoKind.OWN, on_x86)
    assert reason is not None
    assert reason.startswith("/nowhere/libno_aes.so ")


@pytest.mark.parametrize("folder", ["my projects", "a:b", "$HOME"])
def test_a_path_that_the_loader_would_take_apart_is_refused(
    on_x86: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    path = tmp_path / folder / "libno_aes.so"
    path.parent.mkdir()
    path.touch()
    monkeypatch.setattr(aes, "preload_path", lambda: path)
    reason = cannot_hide(CryptoKind.OWN, on_x86)
    assert reason is not None
    assert reason.startswith("LD_PRELOAD ")
    assert str(path) in reason
    assert cannot_hide(CryptoKind.OPENSSL, on_x86) is None


def test_a_process_without_the_preload_has_none() -> None:
    assert preload() == Preload(PreloadMode.NONE, patched=0, unpatched=0, answered=0)


def test_the_preload_runs_wherever_the_extension_module_does() -> None:
    """The wheel's tag says which glibc the module needs; nothing else looks at the preload."""

    def newest_glibc(path: Path) -> tuple[int, int]:
        needed = re.findall(rb"GLIBC_(\d+)\.(\d+)", path.read_bytes())
        return max(((int(major), int(minor)) for major, minor in needed), default=(0, 0))

    (module,) = Path(tdelta.__file__).parent.glob("_native*.so")
    assert newest_glibc(preload_path()) <= newest_glibc(module)
