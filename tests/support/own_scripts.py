from collections.abc import Mapping
from pathlib import Path


def write_workload(folder: Path, scripts: Mapping[str, str]) -> None:
    folder.mkdir()
    head = 'name = "mine"\nversion = 1\ntitle = "Mine"\ndescription = "Of a user\'s."\n'
    tables = "".join(f'[transactions.{name}]\ntitle = "{name}"\nweight = 1.0\n' for name in scripts)
    (folder / "workload.toml").write_text(head + tables)
    for name, script in scripts.items():
        (folder / f"{name}.sql").write_text(script)
