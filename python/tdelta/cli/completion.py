"""``tdelta completion``: what makes a shell complete commands, options and names."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from tdelta.cli.exit_codes import ExitCode
from tdelta.cli.help import Command, Option
from tdelta.cli.output import Mistyped, write
from tdelta.errors import UsageError
from tdelta.messages import Refusal

_SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_TDELTA_COMPLETE"
"""Where click looks for what a shell asks for; its name follows from the program's."""

_ZSH = """\
If ~/.zshrc does not have them yet, add these two lines, with no other compinit before them:
  fpath+=({folder})
  autoload -Uz compinit && compinit
"""


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.option(
    "--install", cls=Option, is_flag=True, help="Write it where SHELL looks for it, and show the remaining steps."
)
def completion(shell: str | None, install: bool) -> int:
    """Print the script that makes SHELL complete tdelta's commands, options, engines, studies and runs.

    Without SHELL: the one that $SHELL names.

    Example: tdelta completion --install

    Example: source <(tdelta completion bash)
    """
    chosen = shell or _usual()
    root = click.get_current_context().find_root().command
    made = get_completion_class(chosen)
    assert made is not None  # noqa: S101 - click has all of `_SHELLS`
    script = f"{made(root, {}, 'tdelta', _VARIABLE).source().strip()}\n"
    write(_installed(chosen, script) if install else script)
    return ExitCode.ANSWERED


def _usual() -> str:
    named = Path(os.environ.get("SHELL", "")).name
    if named not in _SHELLS:
        raise Mistyped(
            Refusal.of("unknown", kind="shell", found=named or "none", hint=f" Expected one of {', '.join(_SHELLS)}.")
        )
    return named


def _installed(shell: str, script: str) -> str:
    """Write the script, and say where it is and what is still to be done."""
    path = _place(shell)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8")
    except OSError as error:
        raise UsageError(Refusal.of("path-unusable", path=str(path), fault=error.strerror or error)) from error
    begun = f"wrote {path}; a {shell} that is started from now on completes tdelta\n"
    return begun + (_ZSH.format(folder=path.parent) if shell == "zsh" else "")


def _place(shell: str) -> Path:
    """The user's own file from which the shell loads the completion of ``tdelta``."""
    if shell == "fish":
        return _folder("XDG_CONFIG_HOME", ".config") / "fish" / "completions" / "tdelta.fish"
    if shell == "zsh":
        return _folder("ZDOTDIR", "") / ".zfunc" / "_tdelta"
    own = os.environ.get("BASH_COMPLETION_USER_DIR")
    base = Path(own) if own else _folder("XDG_DATA_HOME", ".local/share") / "bash-completion"
    return base / "completions" / "tdelta"


def _folder(variable: str, usual: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / usual)
