"""The store of loaded data: whole or not there, for its owner alone, never removed under a reader."""

import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tdelta import own_folders
from tdelta.errors import StorageFault
from tdelta.messages import Refusal
from tdelta.processes.templates import Template, Templates

_FILE_BYTES = 40_960


@pytest.fixture
def store(tmp_path: Path) -> Templates:
    return Templates(tmp_path / "templates")


def _fill(folder: Path) -> None:
    (folder / "rows").write_bytes(os.urandom(_FILE_BYTES))


def _keep(store: Templates, digest: str) -> Template:
    kept = store.kept(digest, _FILE_BYTES, {"rows": 3}, _fill)
    assert kept is not None
    return kept


def test_what_was_kept_is_taken_with_its_facts(store: Templates) -> None:
    _keep(store, "one").close()
    taken = store.taken("one")
    assert taken is not None
    assert taken.facts["rows"] == 3
    assert (taken.folder / "rows").stat().st_size == _FILE_BYTES


def test_another_digest_is_not_taken(store: Templates) -> None:
    _keep(store, "one").close()
    assert store.taken("two") is None


def test_a_template_is_for_its_owner_only(store: Templates) -> None:
    folder = _keep(store, "one").folder
    assert store.key("aes-256") == store.key("aes-256")
    modes = [path.stat().st_mode & 0o777 for path in (store.root, folder, store.root / "secret")]
    assert modes == [0o700, 0o700, 0o600]


def test_a_secret_that_was_left_half_written_is_drawn_anew(store: Templates) -> None:
    store.root.mkdir()
    (store.root / "secret").touch(0o600)
    assert store.key("aes-256") == store.key("aes-256")
    assert [path.stat().st_size for path in store.root.iterdir()] == [32]


def test_a_store_without_hard_links_has_one_secret(store: Templates, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    assert store.key("aes-256") == store.key("aes-256")
    assert [path.name for path in store.root.iterdir()] == ["secret"]


@pytest.mark.parametrize("strange", ["a pipe", "a link", "open to others"])
def test_a_secret_that_is_no_file_of_the_owners_alone_is_refused(store: Templates, strange: str) -> None:
    store.root.mkdir()
    path = store.root / "secret"
    if strange == "a pipe":
        os.mkfifo(path, 0o600)
    elif strange == "a link":
        (store.root / "elsewhere").write_bytes(bytes(32))
        path.symlink_to(store.root / "elsewhere")
    else:
        path.write_bytes(bytes(32))
        path.chmod(0o644)
    with pytest.raises(OSError, match="secret"):
        store.key("aes-256")


def test_files_that_killed_processes_left_half_written_go_with_the_next(store: Templates) -> None:
    kept = _keep(store, "one")
    for name, age in (("facts.json.new-12", 7200), ("pages-0123.new-12", 7200), ("facts.json.new-34", 0)):
        (kept.folder / name).touch()
        os.utime(kept.folder / name, (time.time() - age,) * 2)
    _keep(store, "two").close()
    assert sorted(path.name for path in kept.folder.iterdir()) == ["facts.json", "facts.json.new-34", "rows"]


def test_what_fails_half_way_is_not_taken_and_leaves_nothing(store: Templates) -> None:
    def fail(folder: Path) -> None:
        _fill(folder)
        raise StorageFault(Refusal.of("server-waits"))

    assert store.kept("one", _FILE_BYTES, {}, fail) is None
    assert store.taken("one") is None
    assert list(store.root.iterdir()) == []


def test_what_a_killed_process_left_half_way_goes_with_the_next(store: Templates) -> None:
    left = store.root / ".new-0123"
    left.mkdir(parents=True)
    _fill(left)
    _keep(store, "one").close()
    assert [path.name for path in store.root.iterdir()] == ["one"]


def test_what_was_left_without_facts_is_not_taken_and_made_anew(store: Templates) -> None:
    kept = _keep(store, "one")
    kept.close()
    (kept.folder / "facts.json").unlink()
    assert store.taken("one") is None
    _keep(store, "one").close()


def test_what_is_killed_half_way_through_a_removal_does_not_keep_its_name(
    store: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    _keep(store, "one").close()
    monkeypatch.setattr(own_folders, "remove", lambda _folder: None)
    store.clear()
    assert store.taken("one") is None
    assert not (store.root / "one").exists()
    monkeypatch.undo()
    _keep(store, "one").close()
    assert [path.name for path in store.root.iterdir()] == ["one"]


def test_the_second_of_two_that_make_the_same_gets_the_first_ones(store: Templates) -> None:
    first = _keep(store, "one")
    second = _keep(store, "one")
    assert (first.folder / "rows").samefile(second.folder / "rows")


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    store = Templates(tmp_path, most_bytes=3 * _FILE_BYTES)
    for age, digest in ((9, "used"), (5, "unused")):
        kept = _keep(store, digest)
        kept.close()
        os.utime(kept.folder, (kept.folder.stat().st_mtime - age,) * 2)
    taken = store.taken("used")
    assert taken is not None
    taken.close()
    _keep(store, "new").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "used"]


def test_a_template_in_use_is_not_cleared(store: Templates) -> None:
    kept = _keep(store, "one")
    assert store.clear() == 0
    kept.close()
    assert store.clear() >= _FILE_BYTES
    assert store.taken("one") is None


@pytest.mark.parametrize(("size_bytes", "free_bytes"), [(4 * _FILE_BYTES, 1 << 40), (_FILE_BYTES, 4 * _FILE_BYTES)])
def test_nothing_is_removed_for_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size_bytes: int, free_bytes: int
) -> None:
    store = Templates(tmp_path, most_bytes=2 * _FILE_BYTES)
    _keep(store, "one").close()
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=free_bytes))
    assert store.kept("two", size_bytes, {}, _fill) is None
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_what_is_remembered_is_there_when_it_is_taken_again(store: Templates) -> None:
    _keep(store, "one").remember(cipher="AES-256-CTR")
    taken = store.taken("one")
    assert taken is not None
    assert taken.facts == {"rows": 3, "bytes": _FILE_BYTES, "cipher": "AES-256-CTR"}


def test_what_is_discarded_is_taken_no_more_and_kept_again_once_nobody_has_it(store: Templates) -> None:
    kept = _keep(store, "one")
    kept.discard()
    assert store.taken("one") is None
    assert (kept.folder / "rows").exists()
    assert store.kept("one", _FILE_BYTES, {}, _fill) is None
    kept.close()
    _keep(store, "one").close()
