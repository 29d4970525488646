"""A fleet on a Ray of this machine: `tdelta fleet` is killed, nothing is left, and called again it goes on."""

import os
import signal
import tempfile
from pathlib import Path

import pytest

from support.running import ANSWERED, SMALL, Place, read_until, waited_for
from tdelta.processes.process_tree import living

from .test_agents import are_gone

PATIENCE_SECONDS = 600.0


@pytest.mark.alone
@pytest.mark.timeout(1200)
def test_a_fleet_that_is_killed_leaves_nothing_and_goes_on_with_what_has_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    words = iter(SMALL)
    keys = [f"{word[2:]} = {value(next(words)) if word != '--no-bb' else 'true'}" for word in words]
    (tmp_path / "inventory.toml").write_text("\n".join((*keys, "[target.a]", "[target.b]")), encoding="utf-8")
    place = Place(tmp_path)
    first = place.start("fleet", "inventory.toml")
    read_until(first, "b: begun")
    below = living(first.pid)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert are_gone(below, PATIENCE_SECONDS)
    assert not list(Path("/tmp").glob(f"tdelta-ray-{first.pid}-*"))  # noqa: S108 - sockets' paths are short there
    assert not list((tmp_path / "temporary").glob("tdelta-site-*"))
    ran = waited_for(place.start("fleet", "inventory.toml", "--json"), PATIENCE_SECONDS)
    assert ran.code in ANSWERED, ran.err
    assert "a: begun" not in ran.err
    assert [row["target"] for row in ran.document["rows"]] == ["a", "b"]
    assert all(row["ratio"] > 0 for row in ran.document["rows"])


def value(text: str) -> str:
    return text if text.replace(".", "", 1).isdigit() else f'"{text}"'
