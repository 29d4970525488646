"""The shells in ``ci/``, as their systems run them: taken out of the YAML, with the environment that it declares."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CI = Path(__file__).parents[2] / "ci"


@dataclass(frozen=True)
class Shell:
    """A script, the command that runs it, and its variables with their defaults."""

    script: str
    command: tuple[str, ...]
    defaults: dict[str, str]

    def run(self, folder: Path, path: str, **given: str) -> subprocess.CompletedProcess[str]:
        written = folder / "step.sh"
        written.write_text(self.script, encoding="utf-8")
        environment = {
            **{name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ},
            **self.defaults,
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_DATA_HOME": str(folder / "data"),
            **given,
            "PATH": path,
        }
        command = [*self.command, str(written)]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def github() -> Shell:
    """The step that measures, as its runner starts it (``shell: bash`` is ``bash --noprofile --norc -eo pipefail``)."""
    action = read("github/action.yml")
    (step,) = (one for one in action["runs"]["steps"] if one.get("id") == "run")
    inputs = {f"${{{{ inputs.{name} }}}}": str(one.get("default", "")) for name, one in action["inputs"].items()}
    defaults = {name: inputs[value] for name, value in step["env"].items()}
    return Shell(step["run"], ("bash", "--noprofile", "--norc", "-eo", "pipefail"), defaults)


def gitlab() -> Shell:
    """The job's script, in the shell that an image without Bash has: ``sh -e``."""
    job = read("gitlab/tdelta.yml")[".tdelta"]
    (script,) = job["script"]
    return Shell(script, ("sh", "-e"), {name: str(value) for name, value in job["variables"].items()})


def read(name: str) -> Any:
    return yaml.safe_load((CI / name).read_text(encoding="utf-8"))


SHELLS = {"github": github, "gitlab": gitlab}
