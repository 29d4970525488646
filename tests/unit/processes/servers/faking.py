import sys
from pathlib import Path

from tdelta.processes.process_tree import parse_stat
from tdelta.processes.servers.recipes import Command, Greeting, Recipe, place_for

from .fake_server import GREETING

PROGRAM = Path(__file__).with_name("fake_server.py")


def recipe(folder: Path, mode: str = "well", **changed: object) -> Recipe:
    place = place_for(folder)
    command = Command((sys.executable, str(PROGRAM), str(place.socket), str(place.data), mode))
    fields = {
        "place": place,
        "files": {place.keys / "key": "ab" * 32, folder / "deep" / "server.cnf": "[mysqld]\n"},
        "initialize": (Command(("mkdir", str(place.data))),),
        "serve": command,
        "connect": {"socket": str(place.socket)},
        "greeting": Greeting(answer=GREETING[4:5], at=4),
    }
    return Recipe(**{**fields, **changed})  # type: ignore[arg-type]


def state(pid: int) -> str | None:
    try:
        return parse_stat(Path(f"/proc/{pid}/stat").read_text()).state
    except OSError:
        return None


def is_gone(pid: int) -> bool:
    return state(pid) in (None, "Z", "X")
