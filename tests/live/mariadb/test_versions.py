"""Two versions of a server beside each other: here one server and a copy of it, between which nothing differs."""

import shutil
from pathlib import Path

import pytest

from support.runs import ALONE, BRIEF, MOST_SECONDS, occupied
from tdelta.engines.server.installed import find_servers
from tdelta.messages.checks import BUILDS, FILES, IN_FORCE, NO_MARKER, UNENCRYPTED

LIMIT = ("--max-time", f"{MOST_SECONDS:.0f}s")


def copied(server: Path, prefix: Path) -> Path:
    """An installation whose program is a copy, and whose other files are those of the first."""
    (prefix / "sbin").mkdir(parents=True)
    shutil.copy(server, prefix / "sbin" / server.name)
    for folder in ("bin", "share", "lib", "scripts"):
        if (there := server.parents[1] / folder).is_dir():
            (prefix / folder).symlink_to(there)
    return prefix


def test_the_overhead_is_measured_in_each_version_and_a_copy_does_not_differ(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for place in occupied("mariadb", tmp_path_factory.mktemp("versions")):
        server = find_servers("mariadb")[0]
        paths = (str(server.path), str(copied(server.path, tmp_path / "other")))
        asked = ("--vary", f"server={','.join(paths)}", "--size", "2MB", "--scope", "data")
        document = place.tdelta("run", "--json", "--engine", "mariadb", *LIMIT, *BRIEF, *ALONE, *asked).answer
        labels = [f"{server.version} ({path})" for path in paths]
        primary = [one for one in document["verdicts"] if one["primary"]]
        assert [one["condition"]["server"] for one in primary] == labels
        (one,) = document["version_differences"]
        assert (one["factor"], one["versus"]["server"], one["condition"]["server"]) == ("server", *labels)
        assert one["difference"]["change"] in ("undecided", "unchanged")
        assert "same-program" in {caution["code"] for caution in document["caution_codes"]}


def test_a_server_and_its_copy_are_compared_as_builds_without_encryption(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for place in occupied("mariadb", tmp_path_factory.mktemp("builds")):
        server = find_servers("mariadb")[0]
        paths = (str(server.path), str(copied(server.path, tmp_path / "other")))
        asked = ("--vary", f"server={','.join(paths)}", "--size", "2MB")
        document = place.tdelta("compare", "--json", "--engine", "mariadb", *LIMIT, *BRIEF, *ALONE, *asked).answer
        (primary,) = [one for one in document["verdicts"] if one["primary"]]
        levels = [one["server"] for one in (primary["baseline"], primary["condition"])]
        assert levels == [f"{server.version} ({path})" for path in paths]
        assert primary["decision"] in ("undecided", "negligible")
        states = {check["code"]: check["state"] for check in document["validity"]}
        assert (states[UNENCRYPTED], states[BUILDS]) == ("ok", "not shown")
        assert not states.keys() & {FILES, IN_FORCE, NO_MARKER}
