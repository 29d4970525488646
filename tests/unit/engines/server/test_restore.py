import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from support.refused import Part, refused
from tdelta.engines.server.restore import RestoreTarget, restore
from tdelta.errors import RestoreFault


@pytest.fixture
def target(tmp_path: Path) -> RestoreTarget:
    folder = tmp_path / "restore"
    folder.mkdir()
    names = ("socket", "port", "user", "database")
    return RestoreTarget({**dict.fromkeys(names, "x"), "folder": str(folder)}, {"PGHOST": "x"}, "[client]\nuser=x\n")


def written(target: RestoreTarget, command: str) -> str:
    restore(f"({command}) > {{folder}}/out 2>&1", target, 60.0)
    return (Path(target.placeholders["folder"]) / "out").read_text()


def test_a_command_has_a_home_of_its_own_which_goes_with_it(
    target: RestoreTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "mine"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / ".my.cnf").write_text("[client]\nhost=production\n")
    (tmp_path / "mine" / "app.sql").write_text("rows")
    said = written(target, "cat $HOME/.my.cnf ~/app.sql; echo; echo $PGHOST")
    assert said.splitlines() == ["[client]", "user=x", "rows", "x"]
    assert [path.name for path in (tmp_path / "restore").parent.iterdir() if "home" in path.name] == []


def test_a_command_reaches_nobody_by_the_network(target: RestoreTarget) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"(echo > /dev/tcp/127.0.0.1/{port}) && echo reached || true"
        said = written(target, f"readlink /proc/self/ns/net; {reach}")
        if said.splitlines()[0] == str(Path("/proc/self/ns/net").readlink()):
            pytest.skip("processes may not leave the network here")
        assert "reached" not in said


def test_a_command_that_writes_without_end_is_stopped(target: RestoreTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        f_bavail, f_frsize = 0, 4096

    monkeypatch.setattr(os, "statvfs", lambda _: Full)
    monkeypatch.setattr("tdelta.engines.server.restore._LEAST_FILE_BYTES", 1 << 20)
    with refused(RestoreFault, "restore-failed", found=Part("")):
        restore("cat /dev/zero > {folder}/endless", target, 60.0)
    assert (Path(target.placeholders["folder"]) / "endless").stat().st_size == 1 << 20


def test_what_a_command_said_is_told_where_nothing_can_be_written(target: RestoreTarget) -> None:
    with refused(RestoreFault, "restore-failed", found="3", tail=Part("no space for the last row")):
        restore("rm -r $HOME; echo no space for the last row >&2; exit 3", target, 60.0)


def test_a_command_that_cannot_be_started_is_refused(target: RestoreTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdelta.engines.server.restore._shell", lambda: ["/no/such/shell", "-c"])
    with refused(RestoreFault, "program-missing", program="--restore", remedy=Part("/no/such/shell")):
        restore("true", target, 60.0)


def test_a_command_may_tidy_up_at_ctrl_c(target: RestoreTarget) -> None:
    unpacked = Path(target.placeholders["folder"]) / "unpacked"

    def press_ctrl_c() -> None:
        while not unpacked.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    pressing = threading.Thread(target=press_ctrl_c, daemon=True)
    pressing.start()
    with pytest.raises(KeyboardInterrupt):
        restore("trap 'rm {folder}/unpacked' EXIT; touch {folder}/unpacked; sleep 60", target, 60.0)
    pressing.join()
    assert not unpacked.exists()
