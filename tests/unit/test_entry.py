"""The entry point, before there is a command line."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

import pytest

from tdelta.__main__ import main


class Interrupted(MetaPathFinder):
    """Ctrl-C comes while the command line's modules are looked for."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "tdelta.cli.main":
            raise KeyboardInterrupt


def test_ctrl_c_during_the_imports_ends_with_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "tdelta.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "error: interrupted\n"
