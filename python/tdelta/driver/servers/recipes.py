"""A recipe on its way to the supervisor and back: JSON, through a pipe, since keys are in it."""

from __future__ import annotations

import base64
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tdelta.engines.servers import Command, Greeting, Mount, Place, Recipe

Json = dict[str, Any]


def as_json(recipe: Recipe) -> Json:
    """What `from_json` makes a recipe of. It holds the keys: for a pipe, never for a file."""
    return {
        "folder": str(recipe.place.folder),
        "socket": str(recipe.place.socket),
        "files": {str(path): text for path, text in recipe.files.items()},
        "links": {str(path): str(target) for path, target in recipe.links.items()},
        "initialize": [_command_as_json(command) for command in recipe.initialize],
        "serve": _command_as_json(recipe.serve),
        "connect": dict(recipe.connect),
        "stop_signal": int(recipe.stop_signal),
        "greeting": {
            "says": base64.b64encode(recipe.greeting.says).decode(),
            "answer": base64.b64encode(recipe.greeting.answer).decode(),
            "at": recipe.greeting.at,
        },
        "mount": recipe.mount and _mount_as_json(recipe.mount),
    }


def from_json(found: Mapping[str, Any]) -> Recipe:
    """The recipe that `as_json` told."""
    greeting = found["greeting"]
    return Recipe(
        place=Place(Path(found["folder"]), Path(found["socket"])),
        files={Path(path): text for path, text in found["files"].items()},
        links={Path(path): Path(target) for path, target in found["links"].items()},
        initialize=tuple(_command(told) for told in found["initialize"]),
        serve=_command(found["serve"]),
        connect=found["connect"],
        stop_signal=signal.Signals(found["stop_signal"]),
        greeting=Greeting(
            base64.b64decode(greeting["says"]), base64.b64decode(greeting["answer"]), int(greeting["at"])
        ),
        mount=found["mount"] and _mount(found["mount"]),
    )


def _command_as_json(command: Command) -> Json:
    return {
        "argv": list(command.argv),
        "environment": dict(command.environment),
        "as_user": command.as_user,
        "secret": command.secret,
    }


def _command(told: Mapping[str, Any]) -> Command:
    return Command(tuple(told["argv"]), told["environment"], as_user=told["as_user"], secret=told["secret"])


def _mount_as_json(mount: Mount) -> Json:
    return {
        "make": _command_as_json(mount.make),
        "serve": _command_as_json(mount.serve),
        "ciphertext": str(mount.ciphertext),
        "at": str(mount.at),
    }


def _mount(told: Mapping[str, Any]) -> Mount:
    return Mount(_command(told["make"]), _command(told["serve"]), Path(told["ciphertext"]), Path(told["at"]))
